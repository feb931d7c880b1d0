package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/tenonhq/tenon/internal/jsonpointer"
	"github.com/tenonhq/tenon/internal/jsontext"
)

// maxDepth bounds the nesting of values, as encoding/json does. A value with a cycle is an error.
const maxDepth = 10000

var (
	errDepth    = errors.New("nested too deep")
	errNullHead = errors.New("null where a part or a message is expected")
)

// Diff returns the changes that turn before into after, both pointers to the same type: applied to a copy of before, they result in the JSON
// of after. Differences that the JSON does not show do not count.
//
// Changes name the deepest members that differ, at most MaxPointerSegments deep, in the order of the fields and of the sorted keys. Arrays of
// equal length are compared by element. Elements added to or removed from the end are separate changes. Other arrays are replaced, and
// so are parts and messages of another type or identifier, and tool states of another status.
//
// For equal values it returns nil and does not allocate. Errors wrap ErrWire: they mean that after holds a value that has no JSON, or null in
// place of a part or a message.
func Diff[C change](before, after any) ([]C, error) {
	a, b := reflect.ValueOf(before), reflect.ValueOf(after)
	if a.Kind() != reflect.Pointer || a.Type() != b.Type() || a.IsNil() || b.IsNil() {
		return nil, fmt.Errorf("%w: diff: want two pointers of one type, have %T and %T", ErrWire, before, after)
	}
	p := planOf(a.Type()).elem
	if p.same(a.UnsafePointer(), b.UnsafePointer()) {
		return nil, nil
	}
	var d differ
	d.value(p, a.Elem(), b.Elem())
	if d.err != nil {
		return nil, d.err
	}
	return as[C](d.changes), nil
}

// differ walks two values in parallel and collects the changes.
type differ struct {
	path    []byte
	places  int // number of segments of path
	depth   int
	changes []Change
	err     error // the first error
}

// value compares two values of the type of p, which have addresses.
func (d *differ) value(p *plan, a, b reflect.Value) {
	if p.same(a.Addr().UnsafePointer(), b.Addr().UnsafePointer()) {
		return
	}
	if d.depth++; d.depth > maxDepth {
		d.fail(errDepth)
		return
	}
	defer func() { d.depth-- }()
	switch p.shape {
	case shapeScalar, shapeRaw:
		d.set(p, b)
	case shapeStruct:
		d.structs(p, a, b)
	case shapePointer, shapeUnion:
		d.pointers(p, a, b)
	case shapeSlice:
		d.slices(p, a, b)
	case shapeMap:
		if a.IsNil() != b.IsNil() {
			d.set(p, b)
			return
		}
		d.members(p, a, b)
	case shapeAny:
		d.any(a.Interface(), b.Interface())
	default:
		d.whole(a.Addr().Interface(), b.Addr().Interface())
	}
}

// pointers compares what two pointers, or the pointers in two members of a union, refer to.
func (d *differ) pointers(p *plan, a, b reflect.Value) {
	if p.shape == shapeUnion && !a.IsNil() && !b.IsNil() && a.Elem().Type() == b.Elem().Type() {
		p = planOf(b.Elem().Type())
		a, b = a.Elem(), b.Elem()
	}
	if a.IsNil() || b.IsNil() || p.shape == shapeUnion {
		d.set(p, b)
		return
	}
	d.value(p.elem, a.Elem(), b.Elem())
}

// structs compares two objects field by field. If the identity of a part or message, or the status of a state differs, it
// replaces the whole object.
func (d *differ) structs(p *plan, a, b reflect.Value) {
	owner := p
	p = p.at(b)
	if p.at(a) != p || owner.states != nil && a.Field(0).String() != b.Field(0).String() || p.tag != "" && headID(p, a) != headID(p, b) {
		d.set(owner, b)
		return
	}
	if p.differInside(a, b) {
		d.encoded(a.Addr().Interface(), b.Addr().Interface())
		return
	}
	for i := range p.fields {
		f := &p.fields[i]
		d.field(f, a.FieldByIndex(f.index), b.FieldByIndex(f.index))
	}
	if ea, eb := p.extraOf(a), p.extraOf(b); len(ea) > 0 || len(eb) > 0 {
		d.extras(p, ea, eb)
	}
}

func headID(p *plan, v reflect.Value) string {
	return v.FieldByIndex(p.fields[p.byName["id"]].index).String()
}

func (d *differ) field(f *planField, a, b reflect.Value) {
	absentA, absentB := f.absent(a), f.absent(b)
	if f.plan.same(a.Addr().UnsafePointer(), b.Addr().UnsafePointer()) || absentA && absentB || f.nilObject && a.Len() == 0 && b.Len() == 0 {
		return
	}
	length := d.push(f.name)
	switch {
	case absentB:
		d.remove()
	case absentA:
		d.set(f.plan, b)
	case f.nilObject && b.Len() == 0 && f.plan.shape != shapeMap:
		d.put([]byte("{}"), nil)
	case f.nilObject && f.plan.shape == shapeMap:
		d.members(f.plan, a, b)
	default:
		d.value(f.plan, a, b)
	}
	d.pop(length)
}

// extras compares unknown fields.
func (d *differ) extras(p *plan, a, b Extra) {
	compare := func(a, b json.RawMessage) {
		if !bytes.Equal(a, b) {
			d.setAny(b)
		}
	}
	set := func(b json.RawMessage) { d.setAny(b) }
	diffMembers(d, p.unknown(a), p.unknown(b), compare, set)
}

// unknown returns the extra fields that are not inside known fields.
func (p *plan) unknown(extra Extra) Extra {
	out := Extra{}
	for _, name := range p.unknownOf(extra) {
		out[name] = extra[name]
	}
	return out
}

// differInside reports whether the unknown fields inside known ones differ.
func (p *plan) differInside(a, b reflect.Value) bool {
	ea, eb := p.extraOf(a), p.extraOf(b)
	if len(ea) == 0 && len(eb) == 0 {
		return false
	}
	for name := range p.byName {
		if !bytes.Equal(ea[name], eb[name]) {
			return true
		}
	}
	return false
}

func (d *differ) slices(p *plan, a, b reflect.Value) {
	na, nb := a.Len(), b.Len()
	if a.IsNil() != b.IsNil() && !p.nilList || na != nb && !d.equalPrefix(p.elem, a, b) {
		d.set(p, b)
		return
	}
	for i := 0; na == nb && i < nb; i++ {
		length := d.pushIndex(i)
		d.value(p.elem, a.Index(i), b.Index(i))
		d.pop(length)
	}
	for i := na; i < nb; i++ {
		length := d.pushIndex(i)
		d.set(p.elem, b.Index(i))
		d.pop(length)
	}
	for i := na - 1; i >= nb; i-- {
		length := d.pushIndex(i)
		d.remove()
		d.pop(length)
	}
}

// equalPrefix reports whether one of two arrays begins with the elements of the other.
func (d *differ) equalPrefix(elem *plan, a, b reflect.Value) bool {
	side := differ{depth: d.depth, places: d.places}
	for i := range min(a.Len(), b.Len()) {
		if side.value(elem, a.Index(i), b.Index(i)); len(side.changes) > 0 || side.err != nil {
			return false
		}
	}
	return true
}

func (d *differ) members(p *plan, a, b reflect.Value) {
	if p.object {
		d.objects(*at[map[string]any](a), *at[map[string]any](b))
		return
	}
	compare := func(a, b reflect.Value) { d.value(p.elem, a, b) }
	diffMembers(d, elementsOf(a), elementsOf(b), compare, func(v reflect.Value) { d.set(p.elem, v) })
}

// elementsOf returns addressable copies of the elements of a map.
func elementsOf(m reflect.Value) map[string]reflect.Value {
	out := make(map[string]reflect.Value, m.Len())
	for iter := m.MapRange(); iter.Next(); {
		out[iter.Key().String()] = addressable(iter.Value())
	}
	return out
}

// diffMembers compares two objects in the order of their sorted keys.
func diffMembers[V any](d *differ, a, b map[string]V, compare func(a, b V), set func(V)) {
	keys := slices.Collect(maps.Keys(b))
	for key := range a {
		if _, both := b[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		length := d.push(key)
		va, inA := a[key]
		vb, inB := b[key]
		switch {
		case !inB:
			d.remove()
		case !inA:
			set(vb)
		default:
			compare(va, vb)
		}
		d.pop(length)
	}
}

// set adds a change to v.
func (d *differ) set(p *plan, v reflect.Value) {
	if p.lacksHead(v) {
		d.fail(errNullHead)
		return
	}
	var room []byte
	if v.Kind() == reflect.String {
		room = make([]byte, 0, len(v.String())+len(v.String())/16+len(`""`))
	}
	d.put(p.append(room, v, scope{}))
}

// lacksHead reports whether v is null in place of a part or a message, or a list with one.
func (p *plan) lacksHead(v reflect.Value) bool {
	if p.isHead() {
		return v.IsNil() || p.union != nil && v.Elem().IsNil()
	}
	for i := 0; p.shape == shapeSlice && p.elem.isHead() && i < v.Len(); i++ {
		if p.elem.lacksHead(v.Index(i)) {
			return true
		}
	}
	return false
}

func (d *differ) setAny(v any) {
	d.put(jsontext.Marshal(v))
}

// put adds a change to the JSON, or fails.
func (d *differ) put(raw []byte, err error) {
	if err != nil {
		d.fail(err)
		return
	}
	d.changes = append(d.changes, Change{Pointer: string(d.path), Value: raw})
}

func (d *differ) remove() {
	d.changes = append(d.changes, Change{Pointer: string(d.path), Remove: true})
}

func (d *differ) fail(err error) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: at %q: %w", ErrWire, d.path, err)
	}
}

func (d *differ) push(segment string) int {
	length := len(d.path)
	d.path = jsonpointer.Append(d.path, segment)
	d.places++
	return length
}

func (d *differ) pushIndex(i int) int {
	length := len(d.path)
	d.path = strconv.AppendInt(append(d.path, '/'), int64(i), 10)
	d.places++
	return length
}

func (d *differ) pop(length int) {
	d.path = d.path[:length]
	d.places--
}

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
	"unsafe"

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
// For equal values it returns nil and does not allocate. Errors wrap ErrWire: after holds a value without JSON, or null in place of a part or
// a message.
func Diff[C change](before, after any) ([]C, error) {
	a, b := reflect.ValueOf(before), reflect.ValueOf(after)
	if a.Kind() != reflect.Pointer || a.Type() != b.Type() || a.IsNil() || b.IsNil() {
		return nil, fmt.Errorf("%w: diff: want two pointers of one type, have %T and %T", ErrWire, before, after)
	}
	p := planOf(a.Type()).elem
	if p.memory.same(a.UnsafePointer(), b.UnsafePointer()) {
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
	places  int // segments of path
	depth   int
	changes []Change
	err     error // the first
}

func (d *differ) value(p *plan, a, b reflect.Value) {
	if d.depth++; d.depth > maxDepth {
		d.fail(errDepth)
		return
	}
	// Most of a value is equal: compare in memory first.
	if !p.memory.same(address(a), address(b)) {
		d.byShape(p, a, b)
	}
	d.depth--
}

// byShape compares two values that are not equal in memory, or that are equal but may lack a required member.
func (d *differ) byShape(p *plan, a, b reflect.Value) {
	switch p.shape {
	case shapeScalar:
		d.set(b)
	case shapeRaw:
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			d.set(b)
		}
	case shapeStruct:
		d.structs(p, a, b)
	case shapePointer:
		d.pointers(p, a, b)
	case shapeSlice:
		d.slices(p, a, b)
	case shapeMap:
		if a.IsNil() != b.IsNil() {
			d.set(b)
			return
		}
		d.maps(p, a, b)
	case shapeUnion:
		d.unions(a, b)
	case shapeAny:
		d.any(a.Interface(), b.Interface())
	default:
		d.whole(a.Addr().Interface(), b.Addr().Interface())
	}
}

func (d *differ) pointers(p *plan, a, b reflect.Value) {
	switch {
	case a.IsNil() != b.IsNil():
		d.set(b)
	case !a.IsNil() && a.Pointer() != b.Pointer():
		d.byShape(p.elem, a.Elem(), b.Elem())
	}
}

// structs compares two objects field by field. It replaces a part or message of another identity, and a state of another status.
func (d *differ) structs(p *plan, a, b reflect.Value) {
	if p.states != nil && a.Field(0).String() != b.Field(0).String() {
		d.set(b)
		return
	}
	p = p.at(b)
	if p.tag != "" && headID(p, a) != headID(p, b) {
		d.set(b)
		return
	}
	if p.extra != nil && d.nestedExtras(p, a, b) {
		d.encoded(a.Addr().Interface(), b.Addr().Interface())
		return
	}
	for i := range p.fields {
		f := &p.fields[i]
		if f.same(address(a), address(b)) {
			continue
		}
		d.field(f, a.FieldByIndex(f.index), b.FieldByIndex(f.index))
	}
	if p.extra != nil {
		d.extras(p, a, b)
	}
}

func headID(p *plan, v reflect.Value) string {
	return v.FieldByIndex(p.fields[p.byName["id"]].index).String()
}

func (d *differ) field(f *planField, a, b reflect.Value) {
	absentA, absentB := f.absent(a), f.absent(b)
	if absentA && absentB || f.nilObject && a.Len() == 0 && b.Len() == 0 {
		return
	}
	length := d.push(f.name)
	switch {
	case absentB:
		d.remove()
	case f.plan.nullElement(b):
		d.fail(errNullHead)
	case absentA:
		d.set(b)
	case f.nilObject && f.plan.shape == shapeMap:
		d.maps(f.plan, a, b)
	case f.nilObject && b.Len() == 0:
		d.setRaw([]byte("{}"))
	case f.plan.isHead() && b.IsNil():
		d.fail(errNullHead)
	default:
		d.byShape(f.plan, a, b)
	}
	d.pop(length)
}

// extraOf returns the extra fields of v, which is addressable.
func (p *plan) extraOf(v reflect.Value) Extra { return *p.extraAt(v) }

// extraAt returns where the extra fields of v are, which is addressable.
func (p *plan) extraAt(v reflect.Value) *Extra {
	return (*Extra)(unsafe.Add(address(v), p.extraOffset))
}

// extras compares unknown fields.
func (d *differ) extras(p *plan, a, b reflect.Value) {
	compare := func(a, b json.RawMessage) {
		if !bytes.Equal(a, b) {
			d.setAny(b)
		}
	}
	set := func(b json.RawMessage) { d.setAny(b) }
	if ea, eb := p.extraOf(a), p.extraOf(b); len(ea) > 0 || len(eb) > 0 {
		diffMembers(d, p.unknownOf(ea), p.unknownOf(eb), compare, set)
	}
}

// unknownOf returns the extra fields without those inside known fields.
func (p *plan) unknownOf(extra Extra) Extra {
	out := Extra{}
	for key, raw := range extra {
		if _, known := p.byName[key]; !known && (p.tag == "" || key != p.tag) {
			out[key] = raw
		}
	}
	return out
}

// nestedExtras reports whether unknown fields inside known ones, which the owner keeps, differ.
func (d *differ) nestedExtras(p *plan, a, b reflect.Value) bool {
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
	element := func(d *differ, i int) { d.value(p.elem, a.Index(i), b.Index(i)) }
	if a.IsNil() != b.IsNil() && !p.nilList || na != nb && !d.equalPrefix(min(na, nb), element) {
		d.set(b)
		return
	}
	d.elements(na, nb, element, func(i int) { d.set(b.Index(i)) })
}

// nullElement reports whether v is a list of parts or messages in which one is missing.
func (p *plan) nullElement(v reflect.Value) bool {
	if p.shape != shapeSlice || !p.elem.isHead() {
		return false
	}
	for i := range v.Len() {
		if v.Index(i).IsNil() {
			return true
		}
	}
	return false
}

// equalPrefix reports whether the first n elements are equal.
func (d *differ) equalPrefix(n int, element func(*differ, int)) bool {
	side := differ{depth: d.depth, places: d.places}
	for i := range n {
		if element(&side, i); len(side.changes) > 0 || side.err != nil {
			return false
		}
	}
	return true
}

// elements compares two arrays. If their lengths differ, one is a prefix of the other.
func (d *differ) elements(na, nb int, compare func(*differ, int), set func(int)) {
	at := func(i int, do func()) {
		length := len(d.path)
		d.path = strconv.AppendInt(append(d.path, '/'), int64(i), 10)
		d.places++
		do()
		d.pop(length)
	}
	for i := 0; na == nb && i < nb; i++ {
		at(i, func() { compare(d, i) })
	}
	for i := na; i < nb; i++ {
		at(i, func() { set(i) })
	}
	for i := na - 1; i >= nb; i-- {
		at(i, d.remove)
	}
}

func (d *differ) maps(p *plan, a, b reflect.Value) {
	if ma, ok := anyObject(a.Interface()); ok {
		mb, _ := anyObject(b.Interface())
		d.objects(ma, mb)
		return
	}
	compare := func(a, b reflect.Value) { d.value(p.elem, a, b) }
	diffMembers(d, addressable(a), addressable(b), compare, d.set)
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

// addressable returns copies of the elements of a map, each with its own address.
func addressable(m reflect.Value) map[string]reflect.Value {
	out := make(map[string]reflect.Value, m.Len())
	for iter := m.MapRange(); iter.Next(); {
		v := reflect.New(m.Type().Elem()).Elem()
		v.SetIterValue(iter)
		out[iter.Key().String()] = v
	}
	return out
}

func (d *differ) unions(a, b reflect.Value) {
	switch {
	case b.IsNil() || b.Elem().IsNil():
		d.fail(errNullHead)
	case a.IsNil() || a.Elem().Type() != b.Elem().Type() || a.Elem().IsNil():
		d.set(b)
	case a.Elem().Pointer() != b.Elem().Pointer():
		d.byShape(planOf(a.Elem().Type()).elem, a.Elem().Elem(), b.Elem().Elem())
	}
}

func (d *differ) set(v reflect.Value) {
	if v.Type() == stringType {
		d.setString(v.String())
		return
	}
	if v.CanAddr() && v.Kind() != reflect.Interface {
		v = v.Addr() // saves a copy
	}
	d.setAny(v.Interface())
}

func (d *differ) setAny(v any) {
	if s, ok := v.(string); ok {
		d.setString(s)
		return
	}
	raw, err := jsontext.Marshal(v)
	if err != nil {
		d.fail(err)
		return
	}
	d.setRaw(raw)
}

func (d *differ) setString(s string) {
	value := jsontext.AppendString(make([]byte, 0, len(s)+len(s)/16+8), s)
	d.changes = append(d.changes, Change{Pointer: string(d.path), Value: value})
}

func (d *differ) setRaw(raw []byte) {
	d.changes = append(d.changes, Change{Pointer: string(d.path), Value: bytes.Clone(raw)})
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

func (d *differ) pop(length int) {
	d.path = d.path[:length]
	d.places--
}

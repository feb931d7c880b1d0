package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// errUnknownMember is returned for a field that a plain struct does not declare. Its owner may keep the field.
var errUnknownMember = errors.New("no such field")

// Apply makes the changes to v, a pointer, in order: all of them or, on an error, none. Missing objects on the way to a member are created;
// a change at the length of an array, or at - (RFC 6901), appends one element. A pointer has at most MaxPointerSegments.
//
// The value that v pointed at does not change: it is copied along the path of each change, because callers may share
// parts of it with v.
//
// The work is proportional to the changes, because Go values are changed directly. Unknown fields are stored as JSON, which is read
// again for each change; beyond maxReread bytes in all, the error wraps ErrBounds.
//
// The type, the role and the id of a part or a message cannot be changed; the whole part can be replaced. Errors wrap ErrWire and name the
// pointer and the cause.
func Apply[C change](v any, changes []C) error {
	_, err := ApplyPlaced(v, changes)
	return err
}

// ApplyPlaced is Apply, and returns the pointers of the changes, with the index of each element that was added at -.
func ApplyPlaced[C change](v any, changes []C) (pointers []string, err error) {
	target := reflect.ValueOf(v)
	if len(changes) == 0 {
		return nil, nil
	}
	p := planOf(target.Type().Elem())
	work := reflect.New(p.typ).Elem()
	work.Set(target.Elem())
	a := applier{fresh: map[uintptr]struct{}{}, work: new(reread)}
	list := as[Change](changes)
	pointers = make([]string, len(list))
	for i := range list {
		a.added = -1
		c := &list[i]
		if !utf8.Valid(c.Value) { // stored as it is, it would reach servers that refuse it
			c = &Change{c.Pointer, bytes.ToValidUTF8(c.Value, []byte("\uFFFD")), c.Remove}
		}
		if err := a.change(p, work, c); err != nil {
			return nil, fmt.Errorf("%w: change at %q: %w", ErrWire, list[i].Pointer, err)
		}
		pointers[i] = list[i].Pointer
		if a.added >= 0 {
			pointers[i] = strings.TrimSuffix(pointers[i], end) + "/" + strconv.Itoa(a.added)
		}
	}
	target.Elem().Set(work)
	return pointers, nil
}

// applier makes changes. It copies a value before it changes a member of it, unless it made the value itself.
type applier struct {
	fresh map[uintptr]struct{} // addresses of values that this applier made
	work  *reread
	added int // index of the element that the change added at the end of a list, by -; negative: none
}

// edit is a change without its pointer.
type edit struct {
	value  json.RawMessage
	remove bool
}

func (a *applier) change(p *plan, v reflect.Value, c *Change) error {
	segments, err := splitPointer(c.Pointer)
	if err != nil {
		return err
	}
	e := edit{value: c.Value, remove: c.Remove}
	switch {
	case c.Remove && len(c.Value) > 0:
		return errors.New("both a value and a removal")
	case c.Remove && len(segments) == 0:
		return errors.New("the whole value cannot be removed")
	case !c.Remove && !json.Valid(c.Value):
		return errors.New("the value is not JSON")
	}
	return a.at(p, v, segments, e)
}

// at makes the edit at the path below v. v must be settable and not shared.
func (a *applier) at(p *plan, v reflect.Value, path []string, e edit) error {
	if len(path) == 0 {
		return a.set(p, v, e.value)
	}
	switch p.shape {
	case shapeStruct:
		return a.inStruct(p, v, path, e)
	case shapePointer:
		if v.IsNil() {
			if p.isHead() {
				return errNullHead
			}
			v.Set(reflect.New(p.elem.typ))
			a.made(v)
		}
		a.own(v)
		return a.at(p.elem, v.Elem(), path, e)
	case shapeSlice:
		return a.inSlice(p, v, path, e)
	case shapeMap:
		return a.inMap(p, v, path, e)
	case shapeUnion:
		if v.IsNil() || v.Elem().IsNil() {
			return errNullHead
		}
		member := reflect.New(v.Elem().Type()).Elem()
		member.Set(v.Elem())
		a.own(member)
		v.Set(member)
		return a.at(planOf(member.Type().Elem()), member.Elem(), path, e)
	case shapeAny:
		return a.inAny(v, path, e)
	case shapeRaw:
		raw, err := a.editRaw(v.Bytes(), path, e)
		if err == nil {
			v.SetBytes(raw)
		}
		return err
	case shapeOpaque:
		if err := p.fixed(path[0]); err != nil {
			return err
		}
		return a.reencode(p, v, path, e)
	}
	return errors.New("the value above has no members")
}

// set decodes the value into v.
func (a *applier) set(p *plan, v reflect.Value, raw json.RawMessage) error {
	if p.isHead() && jsontext.IsNull(raw) {
		return errNullHead
	}
	switch p.shape {
	case shapeRaw:
		v.SetBytes(jsontext.Compact(raw))
		return nil
	case shapeAny:
		value, err := jsontext.DecodeAny(raw)
		if err == nil {
			v.Set(reflect.Zero(p.typ))
			if value != nil {
				v.Set(reflect.ValueOf(value))
			}
		}
		return err
	}
	fresh := reflect.New(p.typ)
	decode := Decode
	if p.union != nil {
		decode = decodeExact
	}
	if err := decode(raw, fresh.Interface()); err != nil {
		return jsontext.Mismatch(err)
	}
	if p.lacksHead(fresh.Elem()) {
		return errNullHead
	}
	for _, f := range p.fields {
		if f.plan.isHead() && !f.omitEmpty && fresh.Elem().FieldByIndex(f.index).IsNil() {
			return fmt.Errorf("field %q: %w", f.name, errNullHead)
		}
	}
	v.Set(fresh.Elem())
	return nil
}

func (a *applier) inStruct(p *plan, v reflect.Value, path []string, e edit) error {
	name, last := path[0], len(path) == 1
	if err := p.fixed(name); err != nil {
		return err
	}
	owner := p
	p = p.at(v)
	i, known := p.byName[name]
	if p.states != nil || owner.states != nil && name == "status" {
		return a.reencode(owner, v, path, e) // the change makes it a state of another status
	}
	if !known {
		return a.inExtra(p, v, path, e)
	}
	f := &p.fields[i]
	field := v.FieldByIndex(f.index)
	if last && e.remove {
		return a.removeField(owner, f, v, path, e)
	}
	// The owner keeps unknown fields inside known ones. They change with the field.
	if p.extra != nil {
		if _, nested := p.extraOf(v)[name]; nested {
			return a.reencode(owner, v, path, e)
		}
	}
	err := errUnknownMember // a value with unknown fields
	if !last || !f.plan.loses(e.value) {
		err = a.at(f.plan, field, path[1:], e)
	}
	if errors.Is(err, errUnknownMember) && p.extra != nil {
		return a.reencode(owner, v, path, e)
	}
	return err
}

// fixed refuses changes of the type and the id of a part or a message.
func (p *plan) fixed(name string) error {
	if p.tag != "" && (name == p.tag || name == "id") {
		return fmt.Errorf("%s of a part or a message cannot be changed", name)
	}
	return nil
}

func (a *applier) removeField(owner *plan, f *planField, v reflect.Value, path []string, e edit) error {
	if !f.omitEmpty && !f.omitZero {
		return fmt.Errorf("field %q is required", f.name)
	}
	if owner.extra != nil && owner.extraOf(v)[f.name] != nil {
		return a.reencode(owner, v, path, e)
	}
	v.FieldByIndex(f.index).SetZero()
	return nil
}

// inExtra changes an unknown field.
func (a *applier) inExtra(p *plan, v reflect.Value, path []string, e edit) error {
	if p.extra == nil {
		return fmt.Errorf("%w: %q", errUnknownMember, path[0])
	}
	field := v.FieldByIndex(p.extra)
	extra := p.extraOf(v)
	raw := jsontext.Compact(e.value)
	if len(path) > 1 {
		var err error
		if raw, err = a.editRaw(extra[path[0]], path[1:], e); err != nil {
			return err
		}
	}
	a.own(field)
	extra = p.extraOf(v)
	if len(path) == 1 && e.remove {
		delete(extra, path[0])
	} else {
		extra[path[0]] = raw
	}
	if len(extra) == 0 {
		field.SetZero()
	}
	return nil
}

func (a *applier) inSlice(p *plan, v reflect.Value, path []string, e edit) error {
	n := v.Len()
	i, err := arrayIndex(path[0], n)
	if err != nil {
		return err
	}
	switch {
	case len(path) > 1 && i < n:
		a.own(v)
		return a.at(p.elem, v.Index(i), path[1:], e)
	case len(path) == 1 && e.remove && i < n:
		if err := a.work.spend((n - i) * int(p.elem.typ.Size())); err != nil {
			return err
		}
		a.own(v)
		v.Set(reflect.AppendSlice(v.Slice(0, i), v.Slice(i+1, n)))
		return nil
	case len(path) == 1 && !e.remove:
		elem := reflect.New(p.elem.typ).Elem()
		if err := a.set(p.elem, elem, e.value); err != nil {
			return err
		}
		a.own(v)
		if i < n {
			v.Index(i).Set(elem)
			return nil
		}
		v.Set(reflect.Append(v, elem))
		a.made(v)
		if path[0] == end[1:] {
			a.added = n
		}
		return nil
	}
	return fmt.Errorf("no element %d in an array of %d", i, n)
}

// arrayIndex parses an index of an array with n elements. Both n and - mean the end.
func arrayIndex(segment string, n int) (int, error) {
	if segment == end[1:] {
		return n, nil
	}
	i, err := strconv.Atoi(segment)
	if err != nil || strconv.Itoa(i) != segment || i < 0 {
		return 0, fmt.Errorf("%q is not an array index", segment)
	}
	if i > n {
		return 0, fmt.Errorf("no element %d in an array of %d", i, n)
	}
	return i, nil
}

func (a *applier) inMap(p *plan, v reflect.Value, path []string, e edit) error {
	key := reflect.ValueOf(path[0]).Convert(p.typ.Key())
	old := v.MapIndex(key)
	if len(path) == 1 && e.remove {
		if old.IsValid() {
			a.own(v)
			v.SetMapIndex(key, reflect.Value{})
		}
		return nil
	}
	elem := reflect.New(p.elem.typ).Elem()
	if old.IsValid() {
		elem.Set(old)
	}
	if err := a.at(p.elem, elem, path[1:], e); err != nil {
		return err
	}
	a.own(v)
	v.SetMapIndex(key, elem)
	return nil
}

func (a *applier) made(v reflect.Value) { a.fresh[v.Pointer()] = struct{}{} }

// own replaces a pointer, slice or map by a copy, unless this applier made it.
func (a *applier) own(v reflect.Value) {
	if _, mine := a.fresh[v.Pointer()]; mine || v.Kind() == reflect.Slice && v.Cap() == 0 {
		return
	}
	switch t := v.Type(); v.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(t.Elem())
		fresh.Elem().Set(v.Elem())
		v.Set(fresh)
	case reflect.Slice:
		fresh := reflect.MakeSlice(t, v.Len(), v.Len()+1)
		reflect.Copy(fresh, v)
		v.Set(fresh)
	case reflect.Map:
		fresh := reflect.MakeMapWithSize(t, v.Len()+1)
		for iter := v.MapRange(); iter.Next(); {
			fresh.SetMapIndex(iter.Key(), iter.Value())
		}
		v.Set(fresh)
	}
	a.made(v)
}

package value

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// Select returns the JSON of v, a pointer, restricted to the declared fields: JSON pointers in which * matches any one member; the empty
// pointer is the whole value.
//
// The structure is kept. Objects hold only the selected members; fields that v does not have are omitted. Arrays on the way to a selected
// member keep their length and indices: an element without a selected member is {}, [] or null, by its type. So that the result can be
// decoded, parts and messages always keep their type or role and their id, a tool state its status, and a message with parts its message.
// A hook that replaces an array it did not select as a whole loses the members it did not receive.
func Select(v any, fields []string) (json.RawMessage, error) {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return nil, fmt.Errorf("%w: select: want a pointer, have %T", ErrWire, v)
	}
	wanted := &selection{}
	for _, f := range fields {
		path, err := splitPointer(f)
		if err != nil {
			return nil, fmt.Errorf("%w: select %q: %w", ErrWire, f, err)
		}
		wanted.add(path)
	}
	var s selector
	if err := s.value(planOf(target.Type().Elem()), target.Elem(), wanted); err != nil {
		return nil, fmt.Errorf("%w: select: %w", ErrWire, err)
	}
	return s.out.Bytes(), nil
}

// selection is a tree of declared fields.
type selection struct {
	all     bool
	members map[string]*selection
}

func (s *selection) add(path []string) {
	if len(path) == 0 {
		s.all = true
		return
	}
	if s.members == nil {
		s.members = map[string]*selection{}
	}
	inner := s.members[path[0]]
	if inner == nil {
		inner = &selection{}
		s.members[path[0]] = inner
	}
	inner.add(path[1:])
}

// member returns the selection inside the member of that name; nil for none.
func (s *selection) member(name string) *selection {
	return s.members[name].with(s.members["*"])
}

// with returns the union of two selections; nil selects nothing.
func (s *selection) with(o *selection) *selection {
	switch {
	case s == nil || s == o:
		return o
	case o == nil:
		return s
	}
	both := &selection{all: s.all || o.all, members: map[string]*selection{}}
	maps.Copy(both.members, s.members)
	for key, inner := range o.members {
		both.members[key] = both.members[key].with(inner)
	}
	return both
}

// selector writes the JSON.
type selector struct{ out bytes.Buffer }

func (s *selector) value(p *plan, v reflect.Value, want *selection) error {
	if want.all {
		return s.whole(v)
	}
	switch p.shape {
	case shapeStruct:
		return s.object(p, v, want)
	case shapePointer:
		if v.IsNil() {
			s.out.WriteString("null")
			return nil
		}
		return s.value(p.elem, v.Elem(), want)
	case shapeSlice:
		return s.array(p, v, want)
	case shapeMap:
		return s.mapping(p, v, want)
	case shapeUnion:
		if v.IsNil() || v.Elem().IsNil() {
			s.out.WriteString("null")
			return nil
		}
		return s.value(planOf(v.Elem().Type().Elem()), v.Elem().Elem(), want)
	case shapeScalar:
		s.out.WriteString("null")
		return nil
	}
	if p.tag != "" {
		want = want.with(&selection{members: map[string]*selection{
			"type": {all: true}, "role": {all: true}, "id": {all: true},
		}})
	}
	return s.tree(v, want)
}

func (s *selector) whole(v reflect.Value) error {
	if v.CanAddr() && v.Kind() != reflect.Interface {
		v = v.Addr()
	}
	raw, err := jsontext.Marshal(v.Interface())
	s.out.Write(raw)
	return err
}

func (s *selector) object(p *plan, v reflect.Value, want *selection) error {
	p = p.at(v)
	o := objectWriter{s: s}
	if p.tag != "" {
		o.head(p, v)
	}
	for i := range p.fields {
		f := &p.fields[i]
		inner := want.member(f.name)
		if p.tag != "" && f.name == "id" {
			continue
		}
		if inner == nil && (f.plan.shape == shapeUnion || f.name == p.status) {
			inner = &selection{all: f.plan.shape == shapeScalar}
		}
		field := v.FieldByIndex(f.index)
		if inner == nil || f.absent(field) {
			continue
		}
		o.key(f.name)
		if f.nilObject && field.Len() == 0 {
			s.out.WriteString("{}")
			continue
		}
		if err := s.field(p, v, f, field, inner); err != nil {
			return err
		}
	}
	if p.extra != nil {
		if err := o.extras(p, p.extraOf(v), want); err != nil {
			return err
		}
	}
	o.end()
	return nil
}

// field writes a field as its owner does, which may keep unknown fields inside it.
func (s *selector) field(p *plan, v reflect.Value, f *planField, field reflect.Value, want *selection) error {
	if p.extra == nil || p.extraOf(v)[f.name] == nil {
		return s.value(f.plan, field, want)
	}
	raw, err := jsontext.Marshal(v.Addr().Interface())
	if err != nil {
		return err
	}
	inner := json.RawMessage(jsontext.Field(raw, f.name))
	return s.tree(reflect.ValueOf(&inner).Elem(), want)
}

func (s *selector) array(p *plan, v reflect.Value, want *selection) error {
	if v.IsNil() && !p.nilList {
		s.out.WriteString("null")
		return nil
	}
	s.out.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			s.out.WriteByte(',')
		}
		inner := want.member(strconv.Itoa(i))
		if inner == nil {
			inner = &selection{}
		}
		if err := s.value(p.elem, v.Index(i), inner); err != nil {
			return err
		}
	}
	s.out.WriteByte(']')
	return nil
}

func (s *selector) mapping(p *plan, v reflect.Value, want *selection) error {
	if v.IsNil() {
		s.out.WriteString("null")
		return nil
	}
	o := objectWriter{s: s}
	elem := reflect.New(p.elem.typ).Elem()
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	for _, key := range keys {
		inner := want.member(key.String())
		if inner == nil {
			continue
		}
		o.key(key.String())
		elem.Set(v.MapIndex(key))
		if err := s.value(p.elem, elem, inner); err != nil {
			return err
		}
	}
	o.end()
	return nil
}

// tree writes a value without a plan from its JSON.
func (s *selector) tree(v reflect.Value, want *selection) error {
	raw, err := jsontext.Marshal(v.Addr().Interface())
	if err != nil {
		return err
	}
	selectRaw(&s.out, raw, want)
	return nil
}

func selectRaw(out *bytes.Buffer, raw []byte, want *selection) {
	switch {
	case want.all:
		out.Write(raw)
	case raw[0] == '{':
		out.WriteByte('{')
		sep := ""
		jsontext.EachField(raw, func(key, value []byte) bool {
			name := jsontext.Name(key)
			if inner := want.member(name); inner != nil {
				out.WriteString(sep)
				out.Write(jsontext.Quote(name))
				out.WriteByte(':')
				selectRaw(out, value, inner)
				sep = ","
			}
			return true
		})
		out.WriteByte('}')
	case raw[0] == '[':
		out.WriteByte('[')
		i := 0
		jsontext.EachElement(raw, func(value []byte) {
			if i > 0 {
				out.WriteByte(',')
			}
			inner := want.member(strconv.Itoa(i))
			if inner == nil {
				inner = &selection{}
			}
			selectRaw(out, value, inner)
			i++
		})
		out.WriteByte(']')
	default:
		out.WriteString("null")
	}
}

// objectWriter writes the members of one object.
type objectWriter struct {
	s     *selector
	count int
}

func (o *objectWriter) key(name string) {
	o.s.out.WriteByte("{,"[min(o.count, 1)])
	o.count++
	o.s.out.Write(jsontext.Quote(name))
	o.s.out.WriteByte(':')
}

func (o *objectWriter) end() {
	if o.count == 0 {
		o.s.out.WriteByte('{')
	}
	o.s.out.WriteByte('}')
}

// head writes the fields that identify a part or a message.
func (o *objectWriter) head(p *plan, v reflect.Value) {
	o.key(p.tag)
	o.s.out.Write(jsontext.Quote(p.want))
	o.key("id")
	o.s.out.Write(jsontext.Quote(headID(p, v)))
}

func (o *objectWriter) extras(p *plan, extra Extra, want *selection) error {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		inner := want.member(name)
		if _, known := p.byName[name]; known || inner == nil || p.tag != "" && name == p.tag {
			continue
		}
		raw, err := jsontext.Marshal(extra[name])
		if err != nil {
			return err
		}
		o.key(name)
		selectRaw(&o.s.out, raw, inner)
	}
	return nil
}

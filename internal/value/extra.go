package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// unknownFields returns the fields of the object in data that v, which was decoded from it, does not declare. p is the plan of v.
func unknownFields(data []byte, p *plan, v reflect.Value) Extra {
	var extra Extra
	jsontext.EachField(data, func(key, value []byte) bool {
		name := jsontext.Name(key)
		if i, ok := p.byName[name]; ok {
			f := &p.fields[i]
			inner := f.plan.unknownInside(value, v.FieldByIndex(f.index))
			if len(inner) == 0 {
				return true
			}
			value, _ = jsontext.Marshal(inner) // raw JSON that was valid before
		}
		if extra == nil {
			extra = Extra{}
		}
		extra[name] = bytes.Clone(value)
		return true
	})
	return extra
}

// unknownInside returns the unknown fields of a nested plain struct, or of a list of them.
func (p *plan) unknownInside(data []byte, v reflect.Value) Extra {
	inner, list := p.plain()
	if inner == nil {
		return nil
	}
	if v = pointee(v); !v.IsValid() {
		return nil
	}
	if !list {
		return unknownFields(data, inner, v)
	}
	var extra Extra
	keys := elementKeys{}
	i := 0
	jsontext.EachElement(data, func(value []byte) {
		if i >= v.Len() {
			return
		}
		elem := pointee(v.Index(i))
		i++
		if !elem.IsValid() {
			return
		}
		body, err := jsontext.Marshal(elem.Interface())
		if err != nil {
			return
		}
		key := keys.next(body)
		if unknown := unknownFields(value, inner, elem); len(unknown) > 0 {
			if extra == nil {
				extra = Extra{}
			}
			extra[key], _ = jsontext.Marshal(unknown)
		}
	})
	return extra
}

// hasUnknown reports whether a value decoded by the plan loses fields of data.
func (p *plan) hasUnknown(data []byte) bool {
	inner, _ := p.plain()
	if inner == nil {
		return false
	}
	v := reflect.New(p.typ)
	if json.Unmarshal(data, v.Interface()) != nil {
		return false // the caller gets the same error
	}
	return len(p.unknownInside(data, v.Elem())) > 0
}

// plain returns the struct without an Extra that p is, points at or lists.
func (p *plan) plain() (inner *plan, list bool) {
	if p.shape == shapePointer {
		p = p.elem
	}
	if p.shape == shapeSlice {
		p, list = p.elem, true
	}
	if p.shape == shapePointer {
		p = p.elem
	}
	if p.shape != shapeStruct || p.extra != nil || p.decodes {
		return nil, false
	}
	return p, list
}

func pointee(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer {
		return v.Elem()
	}
	return v
}

// mergeExtra adds the extra fields to the object in body. Those inside a known field that is not in body are dropped: the field was removed
// on purpose.
func mergeExtra(body []byte, extra Extra, p *plan) []byte {
	out := []byte{'{'}
	field := func(key, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, key...)
		out = append(out, ':')
		out = append(out, value...)
	}
	jsontext.EachField(body, func(key, value []byte) bool {
		name := jsontext.Name(key)
		if i, ok := p.byName[name]; ok && extra[name] != nil {
			value = p.fields[i].plan.mergeInside(value, extra[name])
		}
		field(slices.Concat([]byte{'"'}, key, []byte{'"'}), value)
		return true
	})
	names := make([]string, 0, len(extra))
	for name := range extra {
		if _, ok := p.byName[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		value := extra[name]
		if len(value) == 0 {
			value = json.RawMessage("null")
		}
		field(jsontext.Quote(name), value)
	}
	return append(out, '}')
}

// mergeInside adds the extra fields of a nested plain struct, or of a list of them.
func (p *plan) mergeInside(body []byte, raw json.RawMessage) []byte {
	inner, list := p.plain()
	var extra Extra
	if inner == nil || json.Unmarshal(raw, &extra) != nil || len(extra) == 0 {
		return body
	}
	if !list {
		if body[0] != '{' {
			return body
		}
		return mergeExtra(body, extra, inner)
	}
	if body[0] != '[' {
		return body
	}
	out := []byte{'['}
	keys := elementKeys{}
	jsontext.EachElement(body, func(value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		var unknown Extra
		if raw := extra[keys.next(value)]; raw != nil && json.Unmarshal(raw, &unknown) == nil && value[0] == '{' {
			value = mergeExtra(value, unknown, inner)
		}
		out = append(out, value...)
	})
	return append(out, ']')
}

// elementKeys derives keys of list elements from their JSON; equal elements are numbered.
type elementKeys map[uint64]int

func (k elementKeys) next(body []byte) string {
	h := fnv.New64a()
	_, _ = h.Write(body) // never fails
	sum := h.Sum64()
	k[sum]++
	return fmt.Sprintf("%016x.%d", sum, k[sum])
}

// foldsInto reports whether one of the fields differs from a known one only in case.
func foldsInto(e Extra, p *plan) bool {
	for name, raw := range e {
		i, known := p.byName[name]
		if !known && p.folds(name) {
			return true
		}
		if !known {
			continue
		}
		inner, list := p.fields[i].plan.plain()
		var nested Extra
		if inner == nil || json.Unmarshal(raw, &nested) != nil {
			continue
		}
		if !list && foldsInto(nested, inner) {
			return true
		}
		for _, raw := range nested {
			var element Extra
			if list && json.Unmarshal(raw, &element) == nil && foldsInto(element, inner) {
				return true
			}
		}
	}
	return false
}

// withoutFolded removes the fields whose names differ from a known one only in case. It reports whether there were any.
func withoutFolded(data []byte, p *plan) (clean []byte, folded bool) {
	var out []byte
	jsontext.EachField(data, func(key, value []byte) bool {
		name := jsontext.Name(key)
		i, known := p.byName[name]
		if !known && p.folds(name) {
			folded = true
			return true
		}
		if known {
			inner, below := p.fields[i].plan.withoutFoldedInside(value)
			value, folded = inner, folded || below
		}
		out = append(out, ",{"[min(len(out), 1)^1])
		out = append(append(append(out, '"'), key...), '"', ':')
		out = append(out, value...)
		return true
	})
	if !folded {
		return data, false
	}
	if len(out) == 0 {
		out = []byte{'{'}
	}
	return append(out, '}'), true
}

// withoutFoldedInside is withoutFolded for a nested plain struct, or a list of them.
func (p *plan) withoutFoldedInside(data []byte) (clean []byte, folded bool) {
	inner, list := p.plain()
	if inner == nil {
		return data, false
	}
	if !list {
		return withoutFolded(data, inner)
	}
	out := []byte{'['}
	jsontext.EachElement(data, func(value []byte) {
		element, below := withoutFolded(value, inner)
		folded = folded || below
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, element...)
	})
	if !folded {
		return data, false
	}
	return append(out, ']'), true
}

func (p *plan) folds(name string) bool {
	for i := range p.fields {
		if strings.EqualFold(p.fields[i].name, name) {
			return true
		}
	}
	return false
}

// DecodeKeeping decodes data into v, a pointer, and returns the fields of the object that v does not declare. It returns none if v does not
// point at a struct.
func DecodeKeeping(data []byte, v any) (Extra, error) {
	target := reflect.ValueOf(v).Elem()
	if target.Kind() != reflect.Struct || string(data) == "null" {
		return nil, json.Unmarshal(data, v)
	}
	p := planOf(target.Type())
	if !p.decodes {
		return DecodeStruct(data, v)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, err
	}
	return unknownFields(data, p, target), nil
}

// MarshalKept encodes v with the fields in extra, the JSON of what DecodeKeeping returned. They are left out if v is not a pointer to a
// struct.
func MarshalKept(v any, extra json.RawMessage) ([]byte, error) {
	body, err := jsontext.Marshal(v)
	target := reflect.ValueOf(v)
	if err != nil || target.Kind() != reflect.Pointer || target.IsNil() || target.Elem().Kind() != reflect.Struct || body[0] != '{' {
		return body, err
	}
	var unknown Extra
	if json.Unmarshal(extra, &unknown) != nil {
		return body, nil
	}
	return mergeExtra(body, unknown, planOf(target.Type().Elem())), nil
}

package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
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

// plain returns the plan of the struct without an Extra that p describes, points to or lists.
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

// mergeExtra adds the extra fields to the object in body. It drops those inside a known field that body lacks: the field was removed on purpose.
func mergeExtra(body []byte, extra Extra, p *plan) []byte {
	out := []byte{'{'}
	jsontext.EachField(body, func(key, value []byte) bool {
		name := jsontext.Name(key)
		if i, ok := p.byName[name]; ok && extra[name] != nil {
			value = p.fields[i].plan.mergeInside(value, extra[name])
		}
		out = appendRaw(out, key, value)
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if _, known := p.byName[name]; known {
			continue
		}
		value := extra[name]
		if len(value) == 0 {
			value = json.RawMessage("null")
		}
		key := jsontext.Quote(name)
		out = appendRaw(out, key[1:len(key)-1], value)
	}
	return append(out, '}')
}

// mergeInside adds the extra fields of a nested plain struct, or of a list of them.
func (p *plan) mergeInside(body []byte, raw json.RawMessage) []byte {
	var extra Extra
	if json.Unmarshal(raw, &extra) != nil || len(extra) == 0 {
		return body
	}
	_, list := p.plain()
	keys := elementKeys{}
	return p.rewriteInside(body, func(object []byte, inner *plan) []byte {
		unknown := extra
		if list {
			unknown = nil
			_ = json.Unmarshal(extra[keys.next(object)], &unknown) // an element without an entry has no extra fields
		}
		return mergeExtra(object, unknown, inner)
	})
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

// withoutFolded removes the fields whose names differ from a known one only in case, also inside nested plain structs.
func withoutFolded(data []byte, p *plan) []byte {
	if !jsontext.IsObject(data) {
		return data
	}
	out := []byte{'{'}
	jsontext.EachField(data, func(key, value []byte) bool {
		name := jsontext.Name(key)
		i, known := p.byName[name]
		switch {
		case known:
			value = p.fields[i].plan.rewriteInside(value, withoutFolded)
		case p.folds(name):
			return true
		}
		out = appendRaw(out, key, value)
		return true
	})
	return append(out, '}')
}

// rewriteInside rewrites a nested plain struct, or the elements of a list of them. Other values do not change.
func (p *plan) rewriteInside(data []byte, rewrite func(object []byte, inner *plan) []byte) []byte {
	inner, list := p.plain()
	switch {
	case inner == nil:
		return data
	case !list:
		if data[0] == '{' {
			return rewrite(data, inner)
		}
		return data
	case data[0] != '[':
		return data
	}
	out := []byte{'['}
	jsontext.EachElement(data, func(value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		if value[0] == '{' {
			value = rewrite(value, inner)
		}
		out = append(out, value...)
	})
	return append(out, ']')
}

// appendRaw appends a field to an object without its closing bracket. key is the text between the quotes of its name.
func appendRaw(out, key, value []byte) []byte {
	if len(out) > 1 {
		out = append(out, ',')
	}
	out = append(append(append(out, '"'), key...), '"', ':')
	return append(out, value...)
}

func (p *plan) folds(name string) bool {
	for i := range p.fields {
		if strings.EqualFold(p.fields[i].name, name) {
			return true
		}
	}
	return false
}

// DecodeKeeping decodes data into v, a pointer, and returns the fields of the object that v does not declare; none if v does not point to a struct.
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

// MarshalKept encodes v with the fields in extra, the JSON of the result of DecodeKeeping. It omits them if v is not a pointer to a struct.
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

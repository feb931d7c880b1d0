package sdk

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
)

// This file decodes ordinary JSON in one pass. Reading a conversation decodes thousands of parts and
// messages, and encoding/json goes over the data of each several times: to check it, to decode it, and
// both again for every value inside that decodes itself.
//
// The contract: what decodeOrdinary takes it decodes to exactly the value, and the Extra, that the slow
// path (decodeSlow, and UnmarshalJSON of Object) gives. Whatever is not plain it refuses without a reason:
// malformed JSON, values of the wrong type, a field named twice or in other capitals, escapes in names,
// unknown fields in a nested struct that has no place for them. Then the slow path starts over, and its
// outcome stands. So there is one definition of how JSON is read, and it is not here.

// maxOrdinaryDepth bounds how deep ordinary JSON is nested; encoding/json goes to 10000.
const maxOrdinaryDepth = 200

// decodeOrdinary decodes the object in data into target, a struct with the plan p, and returns the fields
// it has no place for. When tag is not empty, a field of that name must be the string want. When ok is
// false, target is as it was.
func decodeOrdinary(data []byte, p *plan, target reflect.Value, tag, want string) (extra Extra, ok bool) {
	if !target.IsZero() {
		return nil, false // encoding/json merges
	}
	d := ordinary{data: data}
	if extra, ok = d.fields(p, target, tag, want); ok && d.atEnd() {
		return extra, true
	}
	target.SetZero()
	return nil, false
}

// ordinaryObject decodes what Object.UnmarshalJSON does, by the same contract.
func ordinaryObject(data []byte) (o Object, ok bool) {
	d := ordinary{data: data}
	o, ok = d.object()
	return o, ok && d.atEnd()
}

// ordinaryElements calls f with each element of the array in data and reports whether all of data is an
// array and f took everything.
func ordinaryElements(data []byte, f func(raw []byte) bool) bool {
	d := ordinary{data: data}
	return d.each('[', ']', func() bool {
		raw, ok := d.raw()
		return ok && f(raw)
	}) && d.atEnd()
}

// firstString returns what is between the quotes of the first field of that name of the object in data,
// nil when that is no string. It is a guess: the data may not be JSON, or name the field once more.
func firstString(data []byte, name string) (raw []byte) {
	eachField(data, func(key, value []byte) bool {
		if string(key) != name {
			return true
		}
		if len(value) >= 2 && value[0] == '"' {
			raw = value[1 : len(value)-1]
		}
		return false
	})
	return raw
}

// fields reads an object into the struct v.
func (d *ordinary) fields(p *plan, v reflect.Value, tag, want string) (extra Extra, ok bool) {
	var seen uint64
	next := 0 // fields mostly come in order
	ok = d.each('{', '}', func() bool {
		key, ok := d.name()
		if !ok {
			return false
		}
		i, known := next, next < len(p.fields) && p.fields[next].name == string(key)
		if !known {
			i, known = p.byName[string(key)]
		}
		if known {
			next = i + 1
			bit := uint64(1) << i // zero for a struct of more than 64 fields; there is none
			if bit == 0 || seen&bit != 0 {
				return false
			}
			seen |= bit
			f := &p.fields[i]
			return d.value(f.plan, v.FieldByIndex(f.index))
		}
		raw, ok := d.raw()
		if !ok {
			return false
		}
		if tag != "" && string(key) == tag {
			return len(raw) == len(want)+2 && raw[0] == '"' && string(raw[1:len(raw)-1]) == want
		}
		name := string(key)
		if p.folds(name) {
			return false
		}
		if extra == nil {
			extra = Extra{}
		}
		extra[name] = bytes.Clone(raw)
		return true
	})
	return extra, ok
}

// value reads any value into v, which is zero.
func (d *ordinary) value(p *plan, v reflect.Value) bool {
	switch {
	case p.shape == shapeRaw:
		raw, ok := d.raw()
		v.SetBytes(bytes.Clone(raw))
		return ok
	case p.typ == objectType:
		o, ok := d.object()
		*v.Addr().Interface().(*Object) = o
		return ok
	case p.states != nil:
		return d.toolState(p, v)
	case p.decodes:
		raw, ok := d.raw()
		return ok && v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw) == nil && len(p.unknownInside(raw, v)) == 0
	}
	switch p.shape {
	case shapeScalar:
		return d.scalar(v)
	case shapePointer:
		if d.peek() == 'n' {
			return d.literal("null")
		}
		v.Set(reflect.New(p.elem.typ))
		return d.value(p.elem, v.Elem())
	case shapeStruct:
		extra, ok := d.fields(p, v, "", "")
		return ok && extra == nil
	case shapeSlice:
		v.Set(reflect.MakeSlice(p.typ, 0, 0)) // not nil, even when it stays empty
		return d.each('[', ']', func() bool {
			n := v.Len()
			v.Grow(1)
			v.SetLen(n + 1)
			return d.peek() != 'n' && d.value(p.elem, v.Index(n))
		})
	case shapeMap:
		return d.mapOf(v.Addr().Interface())
	}
	return false
}

// toolState reads a tool state by the plan of its status.
func (d *ordinary) toolState(p *plan, v reflect.Value) bool {
	state := p.states[ToolStatus(firstString(d.data[d.i:], "status"))]
	if state == nil {
		return false
	}
	extra, ok := d.fields(state, v, "", "")
	v.Addr().Interface().(*ToolState).Extra = extra
	return ok
}

// mapOf reads an object into the map that m points at.
func (d *ordinary) mapOf(m any) bool {
	switch m := m.(type) {
	case *map[string]string:
		*m = map[string]string{}
		return d.entries(func(key string) (ok bool) {
			(*m)[key], ok = d.text()
			return ok
		})
	case *map[string]bool:
		*m = map[string]bool{}
		return d.entries(func(key string) bool {
			yes := d.peek() == 't'
			(*m)[key] = yes
			return yes && d.literal("true") || d.literal("false")
		})
	}
	return false
}

func (d *ordinary) scalar(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		s, ok := d.text()
		v.SetString(s)
		return ok
	case reflect.Bool:
		if d.peek() == 't' {
			v.SetBool(true)
			return d.literal("true")
		}
		return d.literal("false")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		number, ok := d.number()
		n, err := strconv.ParseInt(string(number), 10, 64)
		v.SetInt(n)
		return ok && err == nil && v.Int() == n
	case reflect.Float64:
		number, ok := d.number()
		n, err := strconv.ParseFloat(string(number), 64)
		v.SetFloat(n)
		return ok && err == nil
	}
	return false // no other kinds in the contract
}

// object reads an object or null.
func (d *ordinary) object() (Object, bool) {
	if d.peek() == 'n' {
		return nil, d.literal("null")
	}
	m := map[string]any{}
	return m, d.entries(func(key string) (ok bool) {
		m[key], ok = d.any()
		return ok
	})
}

// any reads a value of an Object.
func (d *ordinary) any() (any, bool) {
	switch d.peek() {
	case '"':
		return d.text()
	case '{':
		o, ok := d.object()
		return map[string]any(o), ok
	case '[':
		list := []any{}
		ok := d.each('[', ']', func() bool {
			e, ok := d.any()
			list = append(list, e)
			return ok
		})
		return list, ok
	case 't':
		return true, d.literal("true")
	case 'f':
		return false, d.literal("false")
	case 'n':
		return nil, d.literal("null")
	}
	number, ok := d.number()
	if !ok {
		return nil, false
	}
	// What has up to 15 digits is exact. Minus zero has a float of its own.
	if n, err := strconv.ParseInt(string(number), 10, 64); err == nil && len(number) <= 15 && n != 0 {
		return float64(n), true
	}
	return exactNumbers(json.Number(number)), true
}

// entries reads an object whose names may be anything; f reads the value.
func (d *ordinary) entries(f func(key string) bool) bool {
	return d.each('{', '}', func() bool {
		key, ok := d.text()
		return ok && d.next(':') && f(key)
	})
}

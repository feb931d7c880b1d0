package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// complete reports whether the unions of a struct are set.
func (d *decoder) complete(p *plan, v reflect.Value) bool {
	for _, i := range p.unions {
		if f := &p.fields[i]; v.FieldByIndex(f.index).IsNil() {
			return d.fail(fmt.Errorf("no JSON object in %q", f.name))
		}
	}
	return true
}

// keeping decodes an object of a type that keeps unknown fields.
func (d *decoder) keeping(p *plan, v reflect.Value) bool {
	standard := d.standard
	d.standard = false
	unknown, ok := d.fields(p, v)
	d.standard = standard
	*p.extraAt(v) = unknown
	return ok
}

// state decodes a state by the plan of its status.
func (d *decoder) state(p *plan, v reflect.Value) bool {
	v.SetZero()
	d.Peek()
	status := jsontext.FirstString(d.Rest(), "status")
	if p.states[string(status)] == nil {
		status = []byte(jsontext.StringField(d.Rest(), "status")) // escaped
	}
	if p = p.states[string(status)]; p == nil {
		return d.fail(fmt.Errorf("tool state: unknown status %q", status))
	}
	return d.keeping(p, v) && (v.Field(0).String() == string(status) || d.fail(errors.New("tool state: two statuses")))
}

// member decodes a member of a union and returns a pointer to it.
func (d *decoder) member(u *Union) (any, bool) {
	d.Peek()
	t, known := u.members[string(jsontext.FirstString(d.Rest(), u.tag))]
	if !known {
		t, known = u.members[jsontext.StringField(d.Rest(), u.tag)] // escaped
	}
	if known {
		member := reflect.New(t)
		return member.Interface(), d.keeping(planOf(t), member.Elem())
	}
	raw, ok := d.Raw()
	switch {
	case !ok:
		return nil, false
	case raw[0] != '{':
		return nil, d.fail(fmt.Errorf("%s: no JSON object: %.40q", u, raw))
	}
	member := reflect.New(u.unknown).Interface()
	d.err = member.(json.Unmarshaler).UnmarshalJSON(raw)
	return member, d.err == nil
}

// own decodes a value by its UnmarshalJSON. The unknown fields in a list of structs are found by decoding it once more.
func (d *decoder) own(p *plan, v reflect.Value) (unknown Extra, ok bool) {
	raw, ok := d.Raw()
	if !ok {
		return nil, false
	}
	if d.err = v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw); d.err != nil {
		return nil, false
	}
	if p.shape == shapeSlice && raw[0] == '[' && !d.standard {
		again := decoder{Scanner: jsontext.NewScanner(raw)}
		unknown, _ = again.slice(p, reflect.New(p.typ).Elem())
	}
	return unknown, true
}

func (d *decoder) pointer(p *plan, v reflect.Value) (unknown Extra, ok bool) {
	if d.Peek() == 'n' && d.Literal("null") {
		v.SetZero()
		return nil, true
	}
	if v.IsNil() {
		v.Set(reflect.New(p.elem.typ))
	}
	return d.value(p.elem, v.Elem())
}

func (d *decoder) slice(p *plan, v reflect.Value) (unknown Extra, ok bool) {
	if d.Peek() != '[' {
		return nil, d.other(v)
	}
	n := 0
	var inner map[int]Extra // unknown fields inside elements
	ok = d.Each('[', ']', func() bool {
		if n == v.Cap() {
			v.Grow(1)
		}
		if n == v.Len() { // like encoding/json, decode into the existing elements
			v.SetLen(n + 1)
		}
		if p.elem.isHead() && d.Peek() == 'n' {
			return d.fail(errNullHead) || d.within(strconv.Itoa(n))
		}
		extra, ok := d.value(p.elem, v.Index(n))
		if !ok {
			return d.within(strconv.Itoa(n))
		}
		if len(extra) > 0 {
			if inner == nil {
				inner = map[int]Extra{}
			}
			inner[n] = extra
		}
		n++
		return true
	})
	if v.SetLen(n); n == 0 {
		v.Set(reflect.MakeSlice(p.typ, 0, 0)) // not nil
	}
	if len(inner) > 0 {
		unknown = p.keepElements(v, inner)
	}
	return unknown, ok
}

// mapOf decodes an object into a map.
func (d *decoder) mapOf(p *plan, v reflect.Value) bool {
	if d.Peek() != '{' {
		return d.other(v)
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(p.typ))
	}
	return d.Entries(func(key string) bool {
		elem := reflect.New(p.elem.typ).Elem()
		if _, ok := d.value(p.elem, elem); !ok {
			return d.within(key)
		}
		v.SetMapIndex(reflect.ValueOf(key).Convert(p.typ.Key()), elem)
		return true
	})
}

// any decodes JSON of any shape: an Object keeps numbers exact, other types round them.
func (d *decoder) any(p *plan, v reflect.Value) bool {
	before := d.Scanner
	switch decoded, ok := d.Any(); {
	case !ok || !p.decodes && !jsontext.Rounded(decoded):
	case p.shape == shapeAny && decoded == nil:
		v.SetZero()
		return true
	case p.shape == shapeAny:
		v.Set(reflect.ValueOf(decoded))
		return true
	default:
		if object, ok := decoded.(map[string]any); ok {
			*at[map[string]any](v) = object
			return true
		}
	}
	d.Scanner = before
	return d.other(v)
}

func (d *decoder) scalar(v reflect.Value) bool {
	switch c := d.Peek(); {
	case c == '"' && v.Kind() == reflect.String:
		s, ok := d.Text()
		v.SetString(s)
		return ok
	case c == 'n' && d.Literal("null"):
		return true // encoding/json leaves the value
	}
	before := d.Scanner
	switch v.Kind() {
	case reflect.Bool:
		if yes := d.Peek() == 't'; yes && d.Literal("true") || d.Literal("false") {
			v.SetBool(yes)
			return true
		}
	case reflect.Int, reflect.Int64:
		number, ok := d.Number()
		if n, err := strconv.ParseInt(string(number), 10, v.Type().Bits()); ok && err == nil {
			v.SetInt(n)
			return true
		}
	case reflect.Float64:
		number, ok := d.Number()
		if n, err := strconv.ParseFloat(string(number), 64); ok && err == nil {
			v.SetFloat(n)
			return true
		}
	}
	d.Scanner = before
	return d.other(v)
}

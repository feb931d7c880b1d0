package manifest

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/nearest"
)

// checker compares JSON with the Go type it is to be decoded into, more strictly than encoding/json: names of fields are exact, none
// is unknown or duplicated, and kinds agree.
type checker struct {
	report *report
	nulls  bool // null counts as an omitted value
}

// decode checks n and, when nothing is wrong, decodes it into v, a pointer. It reports whether it did.
func (c *checker) decode(where string, n *node, v any) bool {
	before := len(c.report.problems) + c.report.omitted
	c.check(where, n, reflect.TypeOf(v).Elem())
	if len(c.report.problems)+c.report.omitted > before {
		return false
	}
	if err := json.Unmarshal(n.raw, v); err != nil {
		c.report.add(where, "", "%v", err)
		return false
	}
	return true
}

// check compares n with a type. Raw JSON is checked elsewhere.
func (c *checker) check(where string, n *node, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() || t.Kind() == reflect.Interface {
		return
	}
	if n.kind == kindNull && c.nulls {
		return
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		if err := json.Unmarshal(n.raw, reflect.New(t).Interface()); err != nil {
			c.report.add(where, "", "%v", err)
		}
		return
	}
	want, ok := kindOf(t)
	if !ok || !c.want(where, n, want) {
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		c.checkStruct(where, n, t)
	case reflect.Map:
		c.checkNames(where, n)
		for _, m := range n.members {
			c.check(at(where, m.name), m.value, t.Elem())
		}
	case reflect.Slice:
		for i, item := range n.items {
			c.check(index(where, i), item, t.Elem())
		}
	case reflect.Int, reflect.Int64:
		if _, err := strconv.ParseInt(n.text, 10, 64); err != nil {
			c.report.add(where, "write a whole number", "%.40s is not a whole number", n.text)
		}
	}
}

// want reports a value of the wrong kind.
func (c *checker) want(where string, n *node, want kind) bool {
	if n.kind == want {
		return true
	}
	c.report.add(where, "", "want %s, have %s", want, n.kind)
	return false
}

func (c *checker) checkStruct(where string, n *node, t reflect.Type) {
	fields := map[string]reflect.Type{}
	collectFields(t, fields)
	c.checkNames(where, n)
	for _, m := range n.members {
		field, ok := fields[m.name]
		if !ok {
			c.unknown(at(where, m.name), m.name, fields)
			continue
		}
		c.check(at(where, m.name), m.value, field)
	}
}

func (c *checker) unknown(where, name string, fields map[string]reflect.Type) {
	known := make([]string, 0, len(fields))
	for k := range fields {
		known = append(known, k)
	}
	c.report.add(where, nearest.Remedy(name, known), "unknown field")
}

// checkNames reports a duplicate name: readers disagree on which of the two counts.
func (c *checker) checkNames(where string, n *node) {
	if name, ok := n.repeated(); ok {
		c.report.add(at(where, name), "keep one of them", "duplicate field")
	}
}

// collectFields adds the JSON fields of a struct, those of embedded structs included.
func collectFields(t reflect.Type, into map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			collectFields(f.Type, into)
		case f.IsExported() && name != "-" && name != "":
			into[name] = f.Type
		}
	}
}

func kindOf(t reflect.Type) (kind, bool) {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return kindObject, true
	case reflect.Slice:
		return kindList, true
	case reflect.String:
		return kindString, true
	case reflect.Bool:
		return kindBool, true
	case reflect.Int, reflect.Int64, reflect.Float64:
		return kindNumber, true
	}
	return "", false
}

package checked

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// AnyName replaces names that the user chose in Place.Schema.
const AnyName = "*"

// maxShown is the maximum length of a value in a message, in bytes.
const maxShown = 40

// Place is the place of a value in a source.
type Place struct {
	Key    string // such as agent.build.mode
	Schema string // the key with * for names that the user chooses, such as agent.*.mode
	Offset int    // of the name, or of the value if it has no name
}

// Member returns the place of a member.
func (p Place) Member(name string, offset int) Place {
	return Place{Key: Join(p.Key, name), Schema: Join(p.Schema, name), Offset: offset}
}

// Element returns the place of an element of a list.
func (p Place) Element(i, offset int) Place {
	return Place{Key: Index(p.Key, i), Schema: p.Schema + "[]", Offset: offset}
}

// Rules are the rules of a format in addition to its types.
type Rules interface {
	// Own reads a value of a type that has several forms in the source. It returns own = false for other types.
	Own(p Place, n *Node, t reflect.Type) (value any, ok, own bool)
	// Member handles a member of a struct, whether or not the struct has a field of the name. It returns false for members that it leaves
	// to the fields.
	Member(p Place, name string, isField bool, n *Node, out map[string]any) bool
	// Text returns the value of a string, with references replaced. It returns false after it reported a reference that cannot be replaced.
	Text(p Place, text string) (string, bool)
	// Constrain checks a value of a plain type, or raw JSON, and returns it in the form in which it is stored. An empty message means that it is
	// valid.
	Constrain(p Place, value any) (kept any, message, remedy string)
	// Set is called for each value without members or elements.
	Set(p Place)
	// Hides reports whether messages must not show the value at p.
	Hides(p Place) bool
}

// NoRules are Rules that add nothing.
type NoRules struct{}

// Own leaves all values to their types.
func (NoRules) Own(Place, *Node, reflect.Type) (value any, ok, own bool) { return nil, false, false }

// Member leaves all members to the fields.
func (NoRules) Member(Place, string, bool, *Node, map[string]any) bool { return false }

// Text returns the text.
func (NoRules) Text(_ Place, text string) (string, bool) { return text, true }

// Constrain accepts the value.
func (NoRules) Constrain(_ Place, value any) (kept any, message, remedy string) { return value, "", "" }

// Set does nothing.
func (NoRules) Set(Place) {}

// Hides shows all values.
func (NoRules) Hides(Place) bool { return false }

// Checker compares a value with the type into which it will be decoded, more strictly than encoding/json: names must be exact, known and
// unique, and kinds must agree. It reports mismatches and returns the values that match as a tree of map[string]any, []any, string, bool,
// json.Number, nil and results of the Rules.
type Checker struct {
	Source *Source
	Report *Report
	Rules  Rules
	Nulls  bool // null means an omitted value
}

// Decode checks n and, if it has no problems, decodes it into v, a pointer. It reports whether it did. The source must be strict.
func (c *Checker) Decode(p Place, n *Node, v any) bool {
	before := c.Report.count()
	if _, ok := c.Value(p, n, reflect.TypeOf(v).Elem()); !ok || c.Report.count() > before {
		return false
	}
	if err := json.Unmarshal(n.Raw, v); err != nil {
		return c.Bad(p, err.Error(), "")
	}
	return true
}

// Value returns n as a tree, and false if it does not match t.
func (c *Checker) Value(p Place, n *Node, t reflect.Type) (any, bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value, ok, own := c.Rules.Own(p, n, t); own {
		return value, ok
	}
	if n.Kind == Null && c.Nulls {
		return nil, true
	}
	switch t.Kind() {
	case reflect.Struct:
		return c.Struct(p, n, t)
	case reflect.Map:
		return c.Map(p, n, t.Elem())
	case reflect.Interface:
		return c.Free(p, n)
	case reflect.Slice:
		if t != reflect.TypeFor[json.RawMessage]() {
			return c.list(p, n, t)
		}
	}
	return c.Leaf(p, n, t)
}

// Leaf returns a value of a plain type, or raw JSON.
func (c *Checker) Leaf(p Place, n *Node, t reflect.Type) (value any, ok bool) {
	kind := t.Kind()
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		value, ok = c.Free(p, n)
	case kind >= reflect.Int && kind <= reflect.Float64:
		value, ok = c.number(p, n, t)
	case kind == reflect.String:
		if ok = c.Want(p, n, String); ok {
			value, ok = c.Rules.Text(p, n.Text)
		}
	case kind == reflect.Bool:
		value, ok = n.Text == "true", c.Want(p, n, Bool)
	default:
		c.Bad(p, "cannot be set", "") // a type without a form in JSON
	}
	if !ok {
		return nil, false
	}
	value, message, remedy := c.Rules.Constrain(p, value)
	if message != "" {
		return nil, c.Bad(p, message, remedy)
	}
	if kind != reflect.Slice { // Free has set the leaves of raw JSON
		c.Rules.Set(p)
	}
	return value, true
}

func (c *Checker) number(p Place, n *Node, t reflect.Type) (any, bool) {
	if !c.Want(p, n, Number) {
		return nil, false
	}
	if json.Unmarshal([]byte(n.Text), reflect.New(t).Interface()) == nil {
		return json.Number(n.Text), true
	}
	shown := visible.Cut(n.Text, maxShown, "…")
	if Whole(t) {
		return nil, c.Bad(p, "want a whole number, have "+shown, "")
	}
	return nil, c.Bad(p, "number out of range: "+shown, "")
}

// Whole reports whether a type holds whole numbers and does not decode them itself.
func Whole(t reflect.Type) bool {
	return (t.Kind() == reflect.Int || t.Kind() == reflect.Int64) && !unmarshals(t)
}

func unmarshals(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// Free returns a value of any shape.
func (c *Checker) Free(p Place, n *Node) (any, bool) {
	free := reflect.TypeFor[any]()
	switch n.Kind {
	case Object:
		return c.Map(p, n, free)
	case List:
		return c.list(p, n, reflect.TypeFor[[]any]())
	}
	c.Rules.Set(p)
	switch n.Kind {
	case String:
		return c.Rules.Text(p, n.Text)
	case Number:
		return json.Number(n.Text), true
	case Bool:
		return n.Text == "true", true
	}
	return nil, true
}

// Map returns an object with names that the user chooses.
func (c *Checker) Map(p Place, n *Node, elem reflect.Type) (any, bool) {
	out := make(map[string]any, len(n.Members))
	return out, c.Each(p, n, func(at Place, name string, n *Node) {
		at.Schema = Join(p.Schema, AnyName)
		if value, ok := c.Value(at, n, elem); ok {
			out[name] = value
		}
	})
}

// Struct returns an object whose names are the fields of the struct t.
func (c *Checker) Struct(p Place, n *Node, t reflect.Type) (any, bool) {
	known := FieldsOf(t)
	out := make(map[string]any, len(n.Members))
	return out, c.Each(p, n, func(at Place, name string, n *Node) {
		field, ok := known.Types[name]
		if c.Rules.Member(at, name, ok, n, out) {
			return
		}
		if !ok {
			if !known.Open {
				c.Bad(at, "unknown key", nearest.Remedy(name, known.Names))
				return
			}
			if best := nearest.Name(name, known.Names); best != "" {
				c.Warn(at, "unknown key, passed on unchanged", `did you mean "`+best+`"?`)
			}
			field = reflect.TypeFor[any]()
		}
		if value, ok := c.Value(at, n, field); ok {
			out[name] = value
		}
	})
}

// Each calls f for each member of an object with its place. It reports whether n is an object.
func (c *Checker) Each(p Place, n *Node, f func(at Place, name string, n *Node)) bool {
	if !c.Want(p, n, Object) {
		return false
	}
	seen := make(map[string]int, len(n.Members))
	for i := range n.Members {
		m := &n.Members[i]
		at := p.Member(m.Name, m.Offset)
		if first, ok := seen[m.Name]; ok {
			message := "duplicate key"
			if line, _ := c.Source.Position(first); line > 0 {
				message = fmt.Sprintf("duplicate key, first on line %d", line)
			}
			c.Bad(at, message, "remove one")
			continue
		}
		seen[m.Name] = m.Offset
		f(at, m.Name, &m.Value)
	}
	if len(n.Members) == 0 {
		c.Rules.Set(p)
	}
	return true
}

func (c *Checker) list(p Place, n *Node, t reflect.Type) (any, bool) {
	if unmarshals(t) { // the type decodes its forms itself
		if err := json.Unmarshal(n.Raw, reflect.New(t).Interface()); err != nil {
			return nil, c.Bad(p, err.Error(), "")
		}
		return n.Raw, true
	}
	if !c.Want(p, n, List) {
		return nil, false
	}
	out := make([]any, 0, len(n.Items))
	for i := range n.Items {
		if value, ok := c.Value(p.Element(i, n.Items[i].Offset), &n.Items[i], t.Elem()); ok {
			out = append(out, value)
		}
	}
	c.Rules.Set(p)
	return out, true
}

// Want reports whether n is of this kind, and adds a problem if not.
func (c *Checker) Want(p Place, n *Node, want Kind) bool {
	return n.Kind == want || c.Mismatch(p, string(want), n)
}

// Mismatch reports that n is not of the wanted kind. It returns false.
func (c *Checker) Mismatch(p Place, want string, n *Node) bool {
	have := string(n.Kind)
	switch {
	case n.Kind == Bool:
		have = n.Text
	case (n.Kind == String || n.Kind == Number) && !c.Rules.Hides(p):
		have = visible.Text(visible.Cut(string(n.Raw), maxShown, "…"))
	}
	return c.Bad(p, "want "+want+", have "+have, "")
}

// Bad reports a problem at p. It returns false, so that callers can return its result.
func (c *Checker) Bad(p Place, message, remedy string) bool {
	c.Report.Add(c.Source.At(p, message, remedy))
	return false
}

// Warn reports a warning at p.
func (c *Checker) Warn(p Place, message, remedy string) {
	c.Report.Warn(c.Source.At(p, message, remedy))
}

// OneOf checks that a name is known. An empty message means that it is.
func OneOf(name string, known ...string) (message, remedy string) {
	if slices.Contains(known, name) {
		return "", ""
	}
	if best := nearest.Name(name, known); best != "" {
		remedy = `did you mean "` + best + `"?`
	}
	return fmt.Sprintf("want one of %s, have %.40q", strings.Join(known, ", "), name), remedy
}

// Fields are the members of a struct in JSON.
type Fields struct {
	Types map[string]reflect.Type
	Names []string // sorted
	Open  bool     // other members are permitted
}

// fields caches the Fields of types.
var fields sync.Map

// FieldsOf returns the members of the struct t, including those of embedded structs. The result must not be changed.
func FieldsOf(t reflect.Type) Fields {
	if f, ok := fields.Load(t); ok {
		return f.(Fields)
	}
	f := Fields{Types: map[string]reflect.Type{}}
	for i := range t.NumField() {
		field := t.Field(i)
		name := FieldName(field)
		switch {
		case field.Type == reflect.TypeFor[sdk.Extra]():
			f.Open = true
		case field.Anonymous && name == "":
			inner := FieldsOf(field.Type)
			maps.Copy(f.Types, inner.Types)
			f.Names, f.Open = append(f.Names, inner.Names...), f.Open || inner.Open
		case name != "":
			f.Types[name] = field.Type
			f.Names = append(f.Names, name)
		}
	}
	slices.Sort(f.Names)
	f.Names = slices.Clip(f.Names) // appending to it makes a copy
	fields.Store(t, f)
	return f
}

// FieldName returns the name of a field in JSON, or "" if it has none.
func FieldName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

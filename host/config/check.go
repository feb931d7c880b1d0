package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// checker walks one source beside the type of the configuration. It reports what does not fit and returns the
// rest as a tree.
type checker struct {
	*loader
	src     *source
	origins map[string]Origin
}

func newChecker(l *loader, s *source) *checker {
	return &checker{loader: l, src: s, origins: map[string]Origin{}}
}

// place is where in the configuration a value stands.
type place struct {
	key    string // as people write it: agent.build.mode
	schema string // the same with * for names that users choose: agent.*.mode
	offset int    // of the name, or of the value where there is no name
	depth  int
}

func (p place) member(name, schema string, offset int) place {
	return place{key: member(p.key, name), schema: member(p.schema, schema), offset: offset, depth: p.depth + 1}
}

func (p place) element(i, offset int) place {
	return place{key: element(p.key, i), schema: p.schema + "[]", offset: offset, depth: p.depth + 1}
}

// anyName stands in schemas for a name the user chose.
const anyName = "*"

// layer returns the source's values.
func (c *checker) layer() tree {
	out, ok := c.value(place{offset: c.src.root.StartOffset}, c.src.root, reflect.TypeFor[sdk.Config]())
	if !ok {
		return tree{}
	}
	layer := tree(out.(map[string]any))
	c.lower(layer)
	if c.src.layer == LayerProject {
		c.restrictProject(layer)
	}
	return layer
}

// value returns v as a leaf or a branch of a tree, and false when it does not fit t.
func (c *checker) value(p place, v hujson.Value, t reflect.Type) (any, bool) {
	if p.depth > maxDepth {
		return nil, c.bad(p, fmt.Sprintf("nested deeper than %d levels", maxDepth), "")
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[sdk.PermissionRules]():
		return c.permission(p, v)
	case reflect.TypeFor[sdk.PluginConfig]():
		return c.plugin(p, v)
	case reflect.TypeFor[sdk.SandboxConfig]():
		return c.sandbox(p, v)
	case reflect.TypeFor[json.RawMessage]():
		return c.constrained(p, v, reflect.TypeFor[any]())
	case reflect.TypeFor[sdk.Object]():
		return c.object(p, v, reflect.TypeFor[any]())
	}
	switch t.Kind() {
	case reflect.Struct:
		return c.fieldsOf(p, v, t)
	case reflect.Map:
		return c.object(p, v, t.Elem())
	case reflect.Slice:
		return c.list(p, v, t.Elem())
	case reflect.Interface:
		return c.free(p, v)
	}
	return c.constrained(p, v, t)
}

// constrained checks a leaf of its own rules, too.
func (c *checker) constrained(p place, v hujson.Value, t reflect.Type) (any, bool) {
	value, ok := c.leaf(p, v, t)
	if !ok {
		return nil, false
	}
	value, message, remedy := constrain(p.schema, value)
	if message != "" {
		return nil, c.bad(p, message, remedy)
	}
	if t.Kind() != reflect.Interface { // of a free value, its own leaves have the origins
		c.set(p)
	}
	return value, true
}

// leaf returns a value whose type is a plain one or free.
func (c *checker) leaf(p place, v hujson.Value, t reflect.Type) (any, bool) {
	if t.Kind() == reflect.Interface {
		return c.free(p, v)
	}
	literal, _ := v.Value.(hujson.Literal)
	kind := v.Value.Kind()
	switch {
	case isNumber(t.Kind()):
		if kind != '0' {
			return nil, c.mismatch(p, "a number", v)
		}
		return c.number(p, literal, t)
	case t.Kind() == reflect.String:
		if kind != '"' {
			return nil, c.mismatch(p, "a string", v)
		}
		return c.text(p, literal), true
	case t.Kind() == reflect.Bool:
		if kind != 't' && kind != 'f' {
			return nil, c.mismatch(p, "true or false", v)
		}
		return literal.Bool(), true
	}
	return nil, c.bad(p, "cannot be configured", "") // a field of a type that configurations have no form for
}

func (c *checker) number(p place, literal hujson.Literal, t reflect.Type) (any, bool) {
	if literal[0] == '-' && !mayBeNegative(p.schema) {
		return nil, c.bad(p, fmt.Sprintf("want 0 or more, have %s", visible.Cut(string(literal), maxShown, "…")), "")
	}
	if json.Unmarshal(literal, reflect.New(t).Interface()) == nil {
		return json.Number(literal), true
	}
	whole := t.Kind() == reflect.Int || t.Kind() == reflect.Int64
	if whole && !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil, c.bad(p, fmt.Sprintf("want a whole number, have %s", visible.Cut(string(literal), maxShown, "…")), "")
	}
	return nil, c.bad(p, fmt.Sprintf("number out of range: %s", visible.Cut(string(literal), maxShown, "…")), "")
}

// text returns a string with its references replaced, and remembers what must not be shown.
func (c *checker) text(p place, literal hujson.Literal) string {
	text := c.expand(p, literal.String())
	if secretKey(p.key) {
		c.addSecret(text)
	}
	if isAddress(p.key) {
		for _, s := range secret.InURL(text) {
			c.addSecret(s)
		}
	}
	return text
}

// free returns a value whose shape belongs to somebody else.
func (c *checker) free(p place, v hujson.Value) (any, bool) {
	switch value := v.Value.(type) {
	case *hujson.Object:
		return c.object(p, v, reflect.TypeFor[any]())
	case *hujson.Array:
		return c.list(p, v, reflect.TypeFor[any]())
	case hujson.Literal:
		c.set(p)
		switch value.Kind() {
		case '"':
			return c.text(p, value), true
		case '0':
			return json.Number(value), true
		case 'n':
			return nil, true
		}
		return value.Bool(), true
	}
	return nil, false
}

// object returns an object whose names the user chose.
func (c *checker) object(p place, v hujson.Value, elem reflect.Type) (any, bool) {
	return c.members(p, v, func(at place, name string, v hujson.Value, out map[string]any) {
		at.schema = member(p.schema, anyName)
		if value, ok := c.value(at, v, elem); ok {
			out[name] = value
		}
	})
}

// fieldsOf returns an object whose names are the fields of the struct t.
func (c *checker) fieldsOf(p place, v hujson.Value, t reflect.Type) (any, bool) {
	known := c.fields.of(t)
	var older olderForms
	value, ok := c.members(p, v, func(at place, name string, v hujson.Value, out map[string]any) {
		field, ok := known.types[name]
		switch {
		case c.older(&older, at, v):
		case ok:
			if value, ok := c.value(at, v, field); ok {
				out[name] = value
			}
		case unsupported(at.schema) != "":
			c.report.warn(c.src.at(at.offset, at.key, unsupported(at.schema), ""))
		case known.open:
			c.nearMiss(at, name, known)
			if value, ok := c.free(at, v); ok {
				out[name] = value
			}
		default:
			c.bad(at, "unknown key", nearest.Remedy(name, known.names))
		}
	})
	if !ok {
		return nil, false
	}
	older.addTo(value.(map[string]any))
	return value, true
}

// members calls f for each member of the object v with its place.
func (c *checker) members(p place, v hujson.Value, f func(at place, name string, v hujson.Value, out map[string]any)) (any, bool) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, c.mismatch(p, "an object", v)
	}
	out := make(map[string]any, len(object.Members))
	seen := make(map[string]int, len(object.Members))
	for _, m := range object.Members {
		name := m.Name.Value.(hujson.Literal).String()
		at := p.member(name, name, m.Name.StartOffset)
		if first, ok := seen[name]; ok {
			line, _ := c.src.position(first)
			c.bad(at, fmt.Sprintf("set twice, first on line %d", line), "remove one")
			continue
		}
		seen[name] = at.offset
		f(at, name, m.Value, out)
	}
	if len(object.Members) == 0 {
		c.set(p)
	}
	return out, true
}

func (c *checker) list(p place, v hujson.Value, elem reflect.Type) (any, bool) {
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, c.mismatch(p, "a list", v)
	}
	out := make([]any, 0, len(array.Elements))
	for i, e := range array.Elements {
		if value, ok := c.value(p.element(i, e.StartOffset), e, elem); ok {
			out = append(out, value)
		}
	}
	c.set(p)
	return out, true
}

// nearMiss warns of a name in an open struct that is most likely a slip of a field's.
func (c *checker) nearMiss(at place, name string, known fields) {
	if best := nearest.Name(name, known.names); best != "" {
		c.report.warn(c.src.at(at.offset, at.key, "unknown key, passed on as it is", `did you mean "`+best+`"?`))
	}
}

// set remembers that the source set the value at p. Elements of lists share the origin of the list.
func (c *checker) set(p place) {
	if p.key != "" && !strings.Contains(p.schema, "[]") {
		c.origins[p.key] = c.src.origin(p.offset)
	}
}

// bad reports a problem at p. It returns false, so that callers can return its result.
func (c *checker) bad(p place, message, remedy string) bool {
	c.report.problem(c.src.at(p.offset, p.key, message, remedy))
	return false
}

func (c *checker) mismatch(p place, want string, v hujson.Value) bool {
	have := map[hujson.Kind]string{'n': "null", 'f': "false", 't': "true", '{': "an object", '[': "a list"}[v.Value.Kind()]
	if literal, ok := v.Value.(hujson.Literal); ok && have == "" {
		have = string(literal)
		have = visible.Cut(have, maxShown, "…")
		if holdsSecrets(p.schema) {
			have = map[hujson.Kind]string{'"': "a string", '0': "a number"}[literal.Kind()]
		}
	}
	return c.bad(p, fmt.Sprintf("want %s, have %s", want, have), "")
}

// maxShown is the maximum length of a value in a message, in bytes.
const maxShown = 40

func isNumber(k reflect.Kind) bool {
	return k >= reflect.Int && k <= reflect.Float64
}

// fields are the members of a struct in JSON.
type fields struct {
	types map[string]reflect.Type
	names []string
	open  bool // other members are kept
}

// fieldTable holds the fields of the types seen so far. It belongs to one Load.
type fieldTable map[reflect.Type]fields

func (ft fieldTable) of(t reflect.Type) fields {
	if f, ok := ft[t]; ok {
		return f
	}
	f := fields{types: map[string]reflect.Type{}}
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Type == reflect.TypeFor[sdk.Extra]() {
			f.open = true
			continue
		}
		name := jsonName(field)
		if name == "" {
			continue
		}
		f.types[name] = field.Type
		f.names = append(f.names, name)
	}
	slices.Sort(f.names)
	ft[t] = f
	return f
}

// jsonName returns the key of a field, "" for one that configurations have not.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

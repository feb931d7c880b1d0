// Package opencode translates a configuration of opencode into one of tenon.
//
// Most keys have the same name and meaning. The translation keeps them, with their comments and in their order, which
// counts among permission rules; it rewrites what is written in another way here, takes out the rest and says why.
package opencode

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// ErrSyntax means that the text is no configuration.
var ErrSyntax = errors.New("not a configuration of opencode")

// Note says what was not carried over as it was, and why.
type Note struct {
	Line   int    // in the text, from 1; 0 for what is in no line
	Key    string // agent.build.mode; empty for what is of no key
	Reason string
}

// String returns the note for people.
func (n Note) String() string {
	text := n.Reason
	if n.Key != "" {
		text = n.Key + ": " + text
	}
	if n.Line > 0 {
		text = fmt.Sprintf("line %d: %s", n.Line, text)
	}
	return text
}

// Result is a translation.
type Result struct {
	Config []byte // the text of a tenon.json
	Notes  []Note // in the order of the lines
}

// Translate translates the text of an opencode.json. Errors wrap ErrSyntax.
func Translate(text []byte) (*Result, error) {
	var report checked.Report
	source := checked.Source{Name: "text", Comments: true}
	if source.Parse(text, &report) == nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, report.Err(ErrSyntax))
	}
	root, err := hujson.Parse([]byte(strings.TrimPrefix(string(text), "\ufeff")))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return nil, fmt.Errorf("%w: it is no object", ErrSyntax)
	}
	t := &translator{text: string(text)}
	rewriteModes(&root)
	t.value("", "", &root, reflect.TypeFor[sdk.Config]())
	t.afterwards()
	root.Format()
	return &Result{Config: root.Pack(), Notes: t.notes}, nil
}

// translator walks the text beside the type of our configuration.
type translator struct {
	text  string
	notes []Note
}

func (t *translator) note(offset int, key, reason string) {
	line := 0
	if offset > 0 && offset <= len(t.text) {
		line = 1 + strings.Count(t.text[:offset], "\n")
	}
	t.notes = append(t.notes, Note{Line: line, Key: key, Reason: reason})
}

// value reports whether v fits to the type, after it took out what does not. key is its name for people; schema is the
// same with * for names that users choose.
func (t *translator) value(key, schema string, v *hujson.Value, want reflect.Type) bool {
	if want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	switch want {
	case reflect.TypeFor[sdk.PermissionRules](), reflect.TypeFor[sdk.Object]():
		return true
	}
	if reason := t.refused(schema, v); reason != "" {
		t.note(v.StartOffset, key, reason)
		return false
	}
	fits := true
	switch want.Kind() {
	case reflect.Struct:
		path := func(name string) string { return checked.Join(schema, name) }
		fits = t.object(key, v, path, func(name string) (reflect.Type, bool) { return fieldOf(want, name) })
	case reflect.Map:
		path := func(string) string { return schema + ".*" }
		fits = t.object(key, v, path, func(string) (reflect.Type, bool) { return want.Elem(), true })
	case reflect.Slice:
		fits = want.Elem().Kind() == reflect.Uint8 || t.list(key, schema, v, want.Elem())
	case reflect.String:
		fits = v.Value.Kind() == '"'
	case reflect.Bool:
		fits = v.Value.Kind() == 't' || v.Value.Kind() == 'f'
	case reflect.Int, reflect.Int64, reflect.Float64:
		fits = v.Value.Kind() == '0'
	}
	if !fits {
		t.note(v.StartOffset, key, "left out: the value has another form than it must have")
	}
	return fits
}

// object takes out the members that do not fit. schemaOf and typeOf tell what a member must be.
func (t *translator) object(key string, v *hujson.Value, schemaOf func(name string) string, typeOf func(name string) (reflect.Type, bool)) bool {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return false
	}
	kept := object.Members[:0]
	for i := range object.Members {
		m := &object.Members[i]
		name := m.Name.Value.(hujson.Literal).String()
		at, path := checked.Join(key, name), schemaOf(name)
		want, known := typeOf(name)
		switch reason := dropped(path); {
		case reason != "":
			t.note(m.Name.StartOffset, at, reason)
			continue
		case !known:
			t.note(m.Name.StartOffset, at, "left out: tenon has no such key")
			continue
		case !t.value(at, path, &m.Value, want):
			continue
		}
		kept = append(kept, *m)
	}
	object.Members = kept
	return true
}

// list takes out the elements that do not fit.
func (t *translator) list(key, schema string, v *hujson.Value, want reflect.Type) bool {
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		return false
	}
	kept := array.Elements[:0]
	for i := range array.Elements {
		if t.value(checked.Index(key, i), schema+"[]", &array.Elements[i], want) {
			kept = append(kept, array.Elements[i])
		}
	}
	array.Elements = kept
	return true
}

// fieldOf returns the type of a field by its name in JSON. What a protocol or a model understands beside our fields is
// passed on as it is.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	fields := checked.FieldsOf(t)
	if field, ok := fields.Types[name]; ok {
		return field, true
	}
	return reflect.TypeFor[sdk.Object](), fields.Open
}

// Package opencode translates a configuration of opencode into a configuration of tenon.
//
// Most keys have the same name and meaning. The translation keeps them with their comments, and in their order, which matters for permission rules.
// It rewrites other forms and removes the rest, with a note for each.
package opencode

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// ErrSyntax is wrapped by errors about texts that are not configurations.
var ErrSyntax = errors.New("not a configuration of opencode")

// Translate translates the text of an opencode.json. Errors wrap ErrSyntax.
func Translate(text []byte) (*config.Translation, error) {
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
		return nil, fmt.Errorf("%w: want an object", ErrSyntax)
	}
	rewriteModes(&root)
	t := &translator{text: string(text), left: check(root.Pack())}
	t.take("", &root)
	t.afterwards()
	root.Format()
	return &config.Translation{Config: root.Pack(), Notes: t.notes}, nil
}

// check returns the reasons why values of a text must be removed, by their keys.
func check(text []byte) map[string]string {
	r := &rules{left: map[string]string{}}
	report := checked.Report{Most: len(text)}
	source := checked.Source{Comments: true}
	r.c = checked.Checker{Source: &source, Report: &report, Rules: r}
	var kept any
	if n := source.Parse(text, &report); n != nil {
		kept, _ = r.c.Value(n.Place(""), n, reflect.TypeFor[sdk.Config]())
	}
	for _, p := range report.Problems {
		r.left[p.Key] = "not imported: " + p.Message
	}
	r.servers(kept)
	return r.left
}

// translator removes values from the text.
type translator struct {
	text  string
	left  map[string]string
	notes []config.Note
}

func (t *translator) note(offset int, key, reason string) {
	line := 0
	if offset > 0 && offset <= len(t.text) {
		line = 1 + strings.Count(t.text[:offset], "\n")
	}
	t.notes = append(t.notes, config.Note{Line: line, Key: key, Reason: reason})
}

// stays reports whether the value with the key stays. It removes parts of the value that do not stay.
func (t *translator) stays(offset int, key string, v *hujson.Value) bool {
	if reason, leaves := t.left[key]; leaves {
		t.note(offset, key, reason)
		return false
	}
	t.take(key, v)
	return true
}

func (t *translator) take(key string, v *hujson.Value) {
	switch value := v.Value.(type) {
	case *hujson.Object:
		value.Members = slices.DeleteFunc(value.Members, func(m hujson.ObjectMember) bool {
			return !t.stays(m.Name.StartOffset, checked.Join(key, nameOf(&m)), &m.Value)
		})
	case *hujson.Array:
		at := -1
		value.Elements = slices.DeleteFunc(value.Elements, func(e hujson.Value) bool {
			at++
			return !t.stays(e.StartOffset, checked.Index(key, at), &e)
		})
	}
}

// fieldOf returns the type of a field by its name in JSON. Other fields of an open struct have any type.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	fields := checked.FieldsOf(t)
	if field, ok := fields.Types[name]; ok {
		return field, true
	}
	return reflect.TypeFor[sdk.Object](), fields.Open
}

// Package opencode translates a configuration of opencode into a configuration of tenon.
//
// Most keys have the same name and meaning. The translation keeps them with their comments, and in their order, which matters for permission rules.
// It rewrites other forms and removes the rest, with a note for each.
package opencode

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// ErrSyntax is wrapped by errors about texts that are not configurations.
var ErrSyntax = errors.New("not a configuration of opencode")

// Translate translates the text of an opencode.json. Errors wrap ErrSyntax, or are those of ctx.
func Translate(ctx context.Context, text []byte) (*config.Translation, error) {
	var report checked.Report
	source := checked.Source{Comments: true}
	if source.Parse(text, &report) == nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, report.Err(ErrSyntax))
	}
	root, err := hujson.Parse(bytes.Clone(bytes.TrimPrefix(text, []byte("\ufeff"))))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return nil, fmt.Errorf("%w: want an object", ErrSyntax)
	}
	rewriteModes(&root)
	t := &translator{source: source}
	for removed := true; removed; { // without a value, a value around it may be incomplete
		before := len(t.notes)
		t.left = refused(ctx, root.Pack())
		t.take("", &root)
		removed = len(t.notes) > before
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(t.notes, func(a, b config.Note) int { return cmp.Compare(a.Line, b.Line) })
	t.note(0, "", `opencode runs commands and changes files unless a rule forbids it; tenon asks unless a rule allows it: see "permission"`)
	root.Format()
	return &config.Translation{Config: root.Pack(), Notes: t.notes}, nil
}

// reference matches a reference to a variable or a file.
var reference = lazyregexp.New(`\{(?:env|file):[^}]*\}`)

// refused returns the reasons why tenon refuses or ignores values of a text, by their keys. References stand for a valid model.
func refused(ctx context.Context, text []byte) map[string]string {
	left := map[string]string{}
	text = reference().ReplaceAllLiteral(text, []byte("{env:MODEL}"))
	loaded, err := config.Load(ctx, config.Options{
		Directory: "/no/such/directory", // without files of a project
		Environ:   []string{"TENON_CONFIG_CONTENT=" + string(text), "MODEL=a/b"}, MaxProblems: len(text),
	})
	if bad, ok := errors.AsType[*config.Error](err); ok {
		for _, p := range bad.Problems {
			left[p.Key] = p.Message
		}
		return left
	}
	if err != nil {
		return left // ctx ended
	}
	for _, w := range loaded.Warnings {
		if w.Message == config.NoEffect || w.Key == "plugin" {
			left[w.Key] = w.Message
		}
	}
	return left
}

// translator removes values from the text.
type translator struct {
	source checked.Source
	left   map[string]string
	notes  []config.Note
}

func (t *translator) note(offset int, key, reason string) {
	line := 0
	if offset > 0 {
		line, _ = t.source.Position(offset)
	}
	t.notes = append(t.notes, config.Note{Line: line, Key: key, Reason: reason})
}

// stays reports whether the value with the key stays. It removes parts of the value that do not stay.
func (t *translator) stays(offset int, key string, v *hujson.Value) bool {
	reason := cmp.Or(dropped(key), t.left[key])
	if literal, ok := v.Value.(hujson.Literal); ok && literal.Kind() == '"' {
		switch text := literal.String(); {
		case strings.HasPrefix(key, "instructions[") && (strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")):
			reason = "instructions are not fetched from the web; save it to a file and name that"
		case strings.Contains(text, "{env:") || strings.Contains(text, "{file:"): // what it stands for is not known
			return true
		}
	}
	if reason != "" {
		t.note(offset, key, "not imported: "+reason)
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

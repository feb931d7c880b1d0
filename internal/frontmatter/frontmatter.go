// Package frontmatter reads Markdown files with YAML front matter, the format of agents, commands and skills.
//
// It converts the front matter to a JSON object that keeps the order of the keys. The object can be decoded into the types of the configuration, in
// which the order of permission rules matters.
package frontmatter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// ErrFrontMatter is wrapped by every error about front matter.
var ErrFrontMatter = errors.New("bad front matter")

const (
	// maxBytes is the maximum size of the front matter. The largest known are a few kilobytes.
	maxBytes = 64 << 10
	// maxLines is the maximum number of lines of the front matter: the parser takes quadratic time for some texts.
	maxLines = 500
)

// unclosed matches a text that begins with a line of dashes and a key. A horizontal rule is not followed by a key.
var unclosed = regexp.MustCompile(`^---[ \t]*\n[A-Za-z_][A-Za-z0-9_-]*[ \t]*:(?:[ \t\n]|$)`)

// Document is a parsed file.
type Document struct {
	Meta json.RawMessage // an object with its keys in their original order; {} without front matter
	Body string          // the text after the front matter, without surrounding white space
}

// Parse parses a file. A file that does not begin with a line of three dashes has no front matter. Front matter without a closing line is an error.
// YAML requires quotes around some values, such as those with a colon and a space. Many files omit them, so Parse does not require them. It refuses
// anchors, aliases and several documents.
func Parse(data []byte) (*Document, error) {
	meta, body, ok := split(data)
	if !ok && unclosed.MatchString(body) {
		return nil, fmt.Errorf("%w: not closed; add a line of three dashes after the last key", ErrFrontMatter)
	}
	if len(meta) > maxBytes {
		return nil, fmt.Errorf("%w: %d bytes, want at most %d", ErrFrontMatter, len(meta), maxBytes)
	}
	if lines := strings.Count(meta, "\n"); lines > maxLines {
		return nil, fmt.Errorf("%w: %d lines, want at most %d", ErrFrontMatter, lines, maxLines)
	}
	object, err := decode(meta)
	for _, repair := range []func(string) string{strings.Clone, joinExamples, spaceTabs} {
		if object == nil {
			meta = repair(meta)
			object, _ = decode(quoteTexts(meta)) // the first error is about the text as it is written
		}
	}
	if object == nil {
		return nil, err
	}
	return &Document{Meta: object, Body: strings.TrimSpace(body)}, nil
}

// Decode decodes the front matter into v as encoding/json does. The error names the key.
func (d *Document) Decode(v any) error {
	if err := json.Unmarshal(d.Meta, v); err != nil {
		return fmt.Errorf("%w: %w", ErrFrontMatter, jsontext.Mismatch(err))
	}
	return nil
}

// Keys returns the keys of the document without a field in v, a pointer to a struct, and the keys of all fields of v.
func (d *Document) Keys(v any) (unknown, known []string) {
	known = checked.FieldsOf(reflect.TypeOf(v).Elem()).Names
	jsontext.EachField(d.Meta, func(key, _ []byte) bool {
		if name := jsontext.Name(key); !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
		return true
	})
	slices.Sort(unknown)
	return unknown, known
}

// Flag is a boolean key that other programs define. As in some of those programs, the words for true of YAML 1.1 and the number 1 are also
// true. Any other value is false, so that a mistake in such a key does not exclude a file.
type Flag bool

// UnmarshalJSON decodes a value. It returns no error.
func (f *Flag) UnmarshalJSON(data []byte) error {
	words := []string{"true", "yes", "on", "1"}
	*f = Flag(slices.Contains(words, strings.ToLower(strings.Trim(string(data), `"`))))
	return nil
}

// closing matches the line of dashes after the last key.
var closing = lazyregexp.New(`(?m)^---[ \t]*$`)

// split splits the file at the lines of dashes.
func split(data []byte) (meta, body string, ok bool) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", text, false
	}
	last := closing().FindStringIndex(rest)
	if last == nil {
		return "", text, false // a rule at the top of a text without front matter
	}
	return rest[:last[0]], rest[last[1]:], true
}

func decode(meta string) (json.RawMessage, error) {
	if err := check(meta); err != nil {
		return nil, err
	}
	var value any
	if err := yaml.UnmarshalWithOptions([]byte(meta), &value, yaml.UseOrderedMap()); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrFrontMatter, strings.TrimSpace(yaml.FormatError(err, false, false)))
	}
	if value == nil {
		return json.RawMessage("{}"), nil
	}
	if _, ok := value.(yaml.MapSlice); !ok {
		return nil, fmt.Errorf("%w: want keys and values, have %T", ErrFrontMatter, value)
	}
	object, err := encode(value)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrontMatter, err)
	}
	return object, nil
}

// check refuses anchors and aliases, which can expand a few lines without bound; texts without quotes of which the parser drops a part, a tab or a
// word such as !x; and texts that are slow to parse: many documents, deeply nested flow collections, lists in one line and many tokens.
func check(meta string) error {
	const maxDepth, maxTokens = 32, 4000 // a repository can have hundreds of files
	depth, line, dashes := 0, 0, 0
	tokens := lexer.Tokenize(meta)
	for _, t := range tokens {
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		lostTab := t.Indicator != token.QuotedScalarIndicator && strings.Contains(strings.TrimSpace(t.Origin), "\t") && !strings.Contains(t.Value, "\t")
		if lostTab || t.Type == token.TagType && !strings.HasPrefix(t.Value, "!!") {
			return fmt.Errorf("%w: line %d: a text that contains a tab or begins with ! needs quotes", ErrFrontMatter, t.Position.Line+1)
		}
		switch t.Type {
		case token.SequenceEntryType:
			dashes++
		case token.AnchorType, token.AliasType, token.DocumentHeaderType:
			return fmt.Errorf("%w: line %d: anchors, aliases and several documents are not supported", ErrFrontMatter, t.Position.Line+1)
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		}
		if max(depth, dashes) > maxDepth {
			return fmt.Errorf("%w: line %d: nested too deep", ErrFrontMatter, t.Position.Line+1)
		}
	}
	if len(tokens) > maxTokens {
		return fmt.Errorf("%w: %d words and symbols, want at most %d", ErrFrontMatter, len(tokens), maxTokens)
	}
	return nil
}

// encode returns value as JSON. Mappings keep their order.
func encode(value any) (json.RawMessage, error) {
	switch value := value.(type) {
	case yaml.MapSlice:
		object := json.RawMessage("{}")
		for _, item := range value {
			field, err := encode(item.Value)
			if err != nil {
				return nil, err
			}
			object = jsontext.AppendField(object, fmt.Sprint(item.Key), field)
		}
		return object, nil
	case []any:
		list := make([]json.RawMessage, len(value))
		for i, item := range value {
			var err error
			if list[i], err = encode(item); err != nil {
				return nil, err
			}
		}
		return json.Marshal(list)
	}
	return json.Marshal(value)
}

// notYAML matches values that are meant as text: with a colon and a space, or a tab, [file] [line], | --all, @handle, !path, "this" or that,
// {a,b}/*.go, *.go, *.
var notYAML = lazyregexp.New("^(([^\"'[{|>].*)?: .*|\\[[^][]*\\] *[^ #].*|[|>] +[^ #].*|[@`%!].*|.*\t.*|\\{[^}{]*\\} *[^ #].*|\\*+([/.].*)?|\"[^\"]*\" *[^ #].*)$")

// examples matches the examples in descriptions of agents for Claude Code. They have several lines, some of which look like keys.
var examples = lazyregexp.New(`(?s)\s*<example>.*?</example>`)

// joinExamples writes each example in one line.
func joinExamples(meta string) string {
	return examples().ReplaceAllStringFunc(meta, func(text string) string { return " " + strings.Join(strings.Fields(text), " ") })
}

// spaceTabs replaces tabs within lines by spaces. Those that indent are mistakes.
func spaceTabs(meta string) string {
	lines := strings.Split(meta, "\n")
	for i, line := range lines {
		text := strings.TrimLeft(line, " \t")
		lines[i] = strings.TrimSuffix(line, text) + strings.ReplaceAll(text, "\t", " ")
	}
	return strings.Join(lines, "\n")
}

// quoteTexts quotes the values of top-level keys that are meant as text and are not YAML.
func quoteTexts(meta string) string {
	lines := strings.Split(meta, "\n")
	for i, line := range lines {
		key, value, ok := strings.Cut(line, ": ")
		value = strings.TrimSpace(value)
		if !ok || key == "" || strings.ContainsAny(key[:1], " \t-#\"'") || !notYAML().MatchString(value) {
			continue
		}
		if _, err := decode(line + "\n"); err != nil {
			lines[i] = key + ": '" + strings.ReplaceAll(value, "'", "''") + "'"
		}
	}
	return strings.Join(lines, "\n")
}

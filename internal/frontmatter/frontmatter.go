// Package frontmatter reads Markdown files that begin with YAML front matter: agents, commands and
// skills are written that way.
//
// The front matter becomes a JSON object whose keys keep the order they were written in, so that it can
// be decoded into the types of the configuration, in which the order of permission rules counts.
package frontmatter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// ErrFrontMatter is wrapped by every error about front matter.
var ErrFrontMatter = errors.New("bad front matter")

// maxBytes bounds the front matter. It is text that people write; the largest seen are a few kilobytes.
const maxBytes = 64 << 10

// unclosed matches a text that begins with a line of dashes, which split does not take for front matter, and a key. A text that
// begins with a rule goes on with something else.
var unclosed = regexp.MustCompile(`^---[ \t]*\n[A-Za-z_][A-Za-z0-9_-]*[ \t]*:(?:[ \t\n]|$)`)

// Document is a file taken apart.
type Document struct {
	Meta json.RawMessage // an object, the keys in the order they were written; {} without front matter
	Body string          // what comes after the front matter, without surrounding white space
}

// Parse takes a file apart. A file that does not begin with a line of three dashes has no front matter;
// all of it is the body, unless it goes on with a key: then the end is missing, which is an error. Values that hold a colon followed by a space must be quoted in YAML; as many
// files in use do not, they are read as if they were. Anchors and aliases are refused.
func Parse(data []byte) (*Document, error) {
	meta, body, ok := split(data)
	if !ok && unclosed.MatchString(body) {
		return nil, fmt.Errorf("%w: it is not closed: write a line of three dashes behind the last key", ErrFrontMatter)
	}
	if !ok {
		return &Document{Meta: json.RawMessage("{}"), Body: strings.TrimSpace(body)}, nil
	}
	if len(meta) > maxBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", ErrFrontMatter, len(meta), maxBytes)
	}
	object, err := decode(meta)
	if err != nil {
		quoted := quoteColons(meta)
		if quoted == meta {
			return nil, err
		}
		var again error
		if object, again = decode(quoted); again != nil {
			return nil, err
		}
	}
	return &Document{Meta: object, Body: strings.TrimSpace(body)}, nil
}

// Decode decodes the front matter into v as encoding/json does. The error names the key.
func (d *Document) Decode(v any) error {
	err := json.Unmarshal(d.Meta, v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%w: key %q: want %s, have %s", ErrFrontMatter, wrong.Field, kindOf(wrong), wrong.Value)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFrontMatter, err)
	}
	return nil
}

// Keys returns the keys that v, a pointer to a struct, has no field for, and those it has.
func (d *Document) Keys(v any) (unknown, known []string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(d.Meta, &fields) != nil {
		return nil, nil // Parse made an object of it
	}
	t := reflect.TypeOf(v).Elem()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		known = append(known, name)
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, key) {
			unknown = append(unknown, key)
		}
	}
	return unknown, known
}

func kindOf(err *json.UnmarshalTypeError) string {
	switch kind := err.Type.Kind().String(); kind {
	case "string":
		return "text"
	case "bool":
		return "true or false"
	case "struct", "map":
		return "a mapping"
	case "slice":
		return "a list"
	case "int", "int64", "float64":
		return "a number"
	default:
		return kind
	}
}

// split cuts the file at the lines of dashes.
func split(data []byte) (meta, body string, ok bool) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", text, false
	}
	for at := 0; at < len(rest); {
		line, _, _ := strings.Cut(rest[at:], "\n")
		if strings.TrimRight(line, " \t") == "---" {
			return rest[:at], strings.TrimPrefix(rest[at+len(line):], "\n"), true
		}
		at += len(line) + 1
	}
	return "", text, false // a rule at the top of a text without front matter
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
	return encode(nil, value)
}

// check refuses anchors and aliases, with which a few lines grow without bound, and flow collections
// nested so deep that reading them takes long.
func check(meta string) error {
	const maxDepth = 32
	depth := 0
	for _, t := range lexer.Tokenize(meta) {
		switch t.Type {
		case token.AnchorType, token.AliasType:
			return fmt.Errorf("%w: line %d: anchors and aliases are not read", ErrFrontMatter, t.Position.Line+1)
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		}
		if depth > maxDepth {
			return fmt.Errorf("%w: line %d: nested too deep", ErrFrontMatter, t.Position.Line+1)
		}
	}
	return nil
}

// encode appends value as JSON.
func encode(out []byte, value any) ([]byte, error) {
	var err error
	switch value := value.(type) {
	case yaml.MapSlice:
		out = append(out, '{')
		for i, item := range value {
			if i > 0 {
				out = append(out, ',')
			}
			key, err := json.Marshal(fmt.Sprint(item.Key))
			if err != nil {
				return nil, fmt.Errorf("%w: key %q: %w", ErrFrontMatter, fmt.Sprint(item.Key), err)
			}
			out = append(append(out, key...), ':')
			if out, err = encode(out, item.Value); err != nil {
				return nil, err
			}
		}
		return append(out, '}'), nil
	case []any:
		out = append(out, '[')
		for i, item := range value {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = encode(out, item); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	}
	scalar, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrontMatter, err)
	}
	return append(out, scalar...), nil
}

// quoteColons puts quotes around the plain values of top-level keys that hold a colon and a space.
func quoteColons(meta string) string {
	lines := strings.Split(meta, "\n")
	for i, line := range lines {
		key, value, ok := strings.Cut(line, ": ")
		value = strings.TrimSpace(value)
		if !ok || key == "" || strings.ContainsAny(key[:1], " \t-#\"'") || !strings.Contains(value, ": ") {
			continue
		}
		if strings.ContainsAny(value[:1], "\"'[{|>") {
			continue
		}
		lines[i] = key + ": '" + strings.ReplaceAll(value, "'", "''") + "'"
	}
	return strings.Join(lines, "\n")
}

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of the JSON files of a package. They are written by people; the largest seen are some tens of kilobytes.
const (
	maxFileBytes = 1 << 20
	maxDepth     = 64
)

// kind is the kind of a JSON value, as messages name it.
type kind string

const (
	kindObject kind = "an object"
	kindList   kind = "a list"
	kindString kind = "a string"
	kindNumber kind = "a number"
	kindBool   kind = "true or false"
	kindNull   kind = "null"
)

// node is a JSON value with details that encoding/json hides: exact field names and duplicate names.
type node struct {
	kind    kind
	text    string   // of strings and numbers
	members []member // of objects, in the order they were written
	items   []*node  // of lists
	raw     json.RawMessage
}

type member struct {
	name  string
	value *node
}

// field returns the last member with this name, nil without.
func (n *node) field(name string) *node {
	for i := len(n.members) - 1; i >= 0; i-- {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

// repeated returns the first duplicate name.
func (n *node) repeated() (string, bool) {
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		if seen[m.name] {
			return m.name, true
		}
		seen[m.name] = true
	}
	return "", false
}

// parseJSON reads one JSON value.
func parseJSON(data []byte) (*node, error) {
	switch {
	case len(data) > maxFileBytes:
		return nil, fmt.Errorf("larger than %d bytes", maxFileBytes)
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return nil, errors.New("begins with a byte order mark; save it as UTF-8 without one")
	case !utf8.Valid(data):
		return nil, errors.New("is not valid UTF-8")
	}
	p := parser{dec: json.NewDecoder(bytes.NewReader(data)), data: data}
	p.dec.UseNumber()
	n, err := p.value(0)
	if err == nil {
		if _, more := p.dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("unexpected data after the JSON value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("is not valid JSON: line %d: %w", 1+bytes.Count(data[:p.offset()], []byte("\n")), err)
	}
	return n, nil
}

type parser struct {
	dec  *json.Decoder
	data []byte
}

func (p *parser) offset() int { return min(int(p.dec.InputOffset()), len(p.data)) }

func (p *parser) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	t, err := p.dec.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	end := p.offset()
	switch t := t.(type) {
	case json.Delim:
		start := end - 1
		n, err := p.composite(t, depth)
		if err == nil {
			n.raw = p.data[start:p.offset()]
		}
		return n, err
	case string:
		return &node{kind: kindString, text: t, raw: quoteJSON(t)}, nil
	case json.Number:
		return &node{kind: kindNumber, text: t.String(), raw: json.RawMessage(t)}, nil
	case bool:
		return &node{kind: kindBool, raw: strconv.AppendBool(nil, t)}, nil
	}
	return &node{kind: kindNull, raw: json.RawMessage("null")}, nil
}

// composite reads an object or a list whose first character was read.
func (p *parser) composite(open json.Delim, depth int) (*node, error) {
	n := &node{kind: kindList}
	if open == '{' {
		n.kind = kindObject
	}
	for p.dec.More() {
		name := ""
		if n.kind == kindObject {
			t, err := p.dec.Token()
			if err != nil {
				return nil, err
			}
			name, _ = t.(string) // the decoder allows nothing else
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if n.kind == kindObject {
			n.members = append(n.members, member{name, v})
			continue
		}
		n.items = append(n.items, v)
	}
	_, err := p.dec.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func quoteJSON(s string) json.RawMessage {
	data, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`""`) // cannot be: a string always encodes
	}
	return data
}

// at returns the place of a member: name behind a dot where it is plain, quoted in brackets else.
func at(where, name string) string {
	plain := name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$") == ""
	switch {
	case !plain:
		return where + "[" + quoted(name) + "]"
	case where == "":
		return name
	}
	return where + "." + name
}

func index(where string, i int) string { return where + "[" + strconv.Itoa(i) + "]" }

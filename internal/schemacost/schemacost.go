// Package schemacost refuses JSON schemas that cannot be used safely. Validators follow references without asking where they lead to:
// a schema that refers to itself for the same value overflows the stack, which ends the whole program, and one whose references
// double at every step takes forever. Schemas of plugins and MCP servers come from strangers.
package schemacost

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxCost bounds how many schemas one value is compared with, references followed.
const maxCost = 2000

// Kinds of errors.
var (
	// ErrCost means that the schema compares one value with too many schemas, or with itself.
	ErrCost = errors.New("compares one value with too many schemas, or with itself by $ref; simplify it")
	// ErrReference means that the schema refers to something outside of it, or in a way that is not supported.
	ErrReference = errors.New("reference not supported")
)

// Resolve returns the schema in text ready for use. Errors are those of Check, or of the validator.
func Resolve(text []byte) (*jsonschema.Resolved, error) {
	if err := Check(text); err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	return schema.Resolve(nil) // fetches nothing
}

// Check looks at the schema in text. Errors wrap ErrCost or ErrReference, or are those of the decoder.
func Check(text []byte) error {
	// The validator's reading counts: it takes "AllOf" for "allOf", and the last of two.
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return err
	}
	understood, err := json.Marshal(&schema)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(understood, &value); err != nil {
		return err
	}
	root := build(value)
	c := &counter{root, map[*node]int{}}
	return c.all(root, true)
}

// node is a JSON value with an identity.
type node struct {
	fields map[string]*node
	items  []*node
	text   string // of a string
	isText bool
}

func build(value any) *node {
	n := &node{}
	switch v := value.(type) {
	case map[string]any:
		n.fields = make(map[string]*node, len(v))
		for name, member := range v {
			n.fields[name] = build(member)
		}
	case []any:
		for _, item := range v {
			n.items = append(n.items, build(item))
		}
	case string:
		n.text, n.isText = v, true
	}
	return n
}

// counter counts how many schemas are compared with one value.
type counter struct {
	root *node
	done map[*node]int // what was counted; -1 while it is
}

// all looks at n and at every schema that may stand inside of it.
func (c *counter) all(n *node, top bool) error {
	for name, member := range n.fields {
		switch {
		case !member.isText:
		case name == "$dynamicRef" || name == "$recursiveRef":
			return fmt.Errorf("%w: %s; use $ref", ErrReference, name)
		case name == "$id" && !top:
			return fmt.Errorf("%w: $id inside of a schema; use $defs and $ref", ErrReference)
		case name == "$ref" && member.text != "#" && !strings.HasPrefix(member.text, "#/"):
			return fmt.Errorf("%w: $ref %.100q: want a pointer into the schema, such as #/$defs/name", ErrReference, member.text)
		}
	}
	if n.fields != nil {
		if _, err := c.count(n); err != nil {
			return err
		}
	}
	for _, member := range n.fields {
		if err := c.all(member, false); err != nil {
			return err
		}
	}
	for _, item := range n.items {
		if err := c.all(item, false); err != nil {
			return err
		}
	}
	return nil
}

// count returns how many schemas a value that n describes is compared with.
func (c *counter) count(n *node) (int, error) {
	switch cost := c.done[n]; {
	case cost < 0:
		return 0, ErrCost
	case cost > 0:
		return cost, nil
	}
	c.done[n] = -1
	sum := 1
	for _, next := range c.inPlace(n) {
		cost, err := c.count(next)
		if err != nil {
			return 0, err
		}
		if sum += cost; sum > maxCost {
			return 0, ErrCost
		}
	}
	c.done[n] = sum
	return sum, nil
}

// inPlace returns the schemas that are applied to the same value as n.
func (c *counter) inPlace(n *node) []*node {
	var out []*node
	for name, member := range n.fields {
		switch name {
		case "allOf", "anyOf", "oneOf":
			out = append(out, member.items...)
		case "not", "if", "then", "else":
			out = append(out, member)
		case "dependentSchemas", "dependencies":
			out = slices.AppendSeq(out, maps.Values(member.fields))
		case "$ref":
			if target := c.target(member.text); member.isText && target != nil {
				out = append(out, target)
			}
		}
	}
	return out
}

// target follows a pointer such as #/$defs/name; nil when it leads nowhere, which whoever compiles the schema reports.
func (c *counter) target(ref string) *node {
	pointer, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil {
		return nil
	}
	n := c.root
	for _, segment := range strings.Split(pointer, "/")[1:] {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
		if n.items != nil {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(n.items) {
				return nil
			}
			n = n.items[i]
			continue
		}
		if n = n.fields[name]; n == nil {
			return nil
		}
	}
	return n
}

// Package schemacost refuses JSON schemas that are unsafe to use. Validators follow references without bounds: a schema that refers to
// itself for the same value overflows the stack, which ends the whole program, and one whose references double at every step takes
// forever. Plugins and MCP servers, which supply schemas, are not trusted.
package schemacost

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxCost is the maximum number of schemas that one value is compared with, including those behind references. Ten values of an enumeration
// count as one.
const maxCost = 2000

// Kinds of errors.
var (
	// ErrCost means that the schema compares one value with too many schemas, or with itself.
	ErrCost = errors.New("compares one value with too many schemas, or with itself by $ref; simplify it")
	// ErrReference means that the schema refers to something outside itself, or in an unsupported way.
	ErrReference = errors.New("reference not supported")
)

// Resolve returns the validator of the schema in text. Errors wrap ErrCost or ErrReference, or are those of the decoder and the validator.
func Resolve(text []byte) (*jsonschema.Resolved, error) {
	// Check what the validator reads: it accepts "AllOf" for "allOf", and the last of duplicate members.
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	understood, err := json.Marshal(&schema)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(understood, &value); err != nil {
		return nil, err
	}
	c := &counter{root: value, done: map[uintptr]int{}}
	if c.all(value, true); c.err != nil {
		return nil, c.err
	}
	return schema.Resolve(nil) // fetches nothing
}

// counter counts how many schemas are compared with one value.
type counter struct {
	root any
	done map[uintptr]int // cost by the address of a schema's map; -1 while it is counted
	err  error           // the first
}

func (c *counter) fail(err error) { c.err = cmp.Or(c.err, err) }

// all checks a value and every schema that it may contain.
func (c *counter) all(value any, top bool) {
	if list, ok := value.([]any); ok {
		for _, item := range list {
			c.all(item, false)
		}
	}
	c.count(value)
	schema, _ := value.(map[string]any)
	for name, member := range schema {
		text, isText := member.(string)
		switch {
		case !isText:
			c.all(member, false)
		case name == "$dynamicRef" || name == "$recursiveRef":
			c.fail(fmt.Errorf("%w: %s; use $ref", ErrReference, name))
		case name == "$id" && !top:
			c.fail(fmt.Errorf("%w: $id inside of a schema; use $defs and $ref", ErrReference))
		case name == "$ref" && text != "#" && !strings.HasPrefix(text, "#/"):
			c.fail(fmt.Errorf("%w: $ref %.100q: want a pointer into the schema, such as #/$defs/name", ErrReference, text))
		}
	}
}

// count returns how many schemas a value is compared with, unless it fails. A schema that is true or false costs nothing.
func (c *counter) count(value any) int {
	schema, ok := value.(map[string]any)
	if !ok {
		return 0
	}
	id := reflect.ValueOf(schema).Pointer()
	if cost := c.done[id]; cost > 0 {
		return cost
	} else if cost < 0 {
		c.fail(ErrCost)
		return 0
	}
	c.done[id] = -1
	values, _ := schema["enum"].([]any)
	sum := 1 + len(values)/10
	for _, next := range c.inPlace(schema) {
		if sum += c.count(next); sum > maxCost {
			break
		}
	}
	if sum > maxCost {
		c.fail(ErrCost)
	}
	c.done[id] = sum
	return sum
}

// inPlace returns the schemas that are applied to the same value as the given one.
func (c *counter) inPlace(schema map[string]any) []any {
	var out []any
	for name, member := range schema {
		switch name {
		case "allOf", "anyOf", "oneOf":
			list, _ := member.([]any)
			out = append(out, list...)
		case "not", "if", "then", "else":
			out = append(out, member)
		case "dependentSchemas", "dependencies":
			members, _ := member.(map[string]any)
			out = slices.AppendSeq(out, maps.Values(members))
		case "$ref":
			if text, ok := member.(string); ok {
				out = append(out, c.target(text))
			}
		}
	}
	return out
}

// target follows a pointer such as #/$defs/name. It returns nil if the pointer leads nowhere, which the validator reports.
func (c *counter) target(ref string) any {
	pointer, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil {
		return nil
	}
	value := c.root
	for _, segment := range strings.Split(pointer, "/")[1:] {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

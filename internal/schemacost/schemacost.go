// Package schemacost refuses JSON schemas that are unsafe to use, and values that are too large for theirs. Validators follow references
// without bounds: a schema that refers to itself for the same value overflows the stack, which ends the whole program, and one whose
// references double at every step, or at every level of the value, takes forever. Plugins and MCP servers, which supply both, are not trusted.
package schemacost

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tenonhq/tenon/internal/jsonpointer"
	"github.com/tenonhq/tenon/internal/jsontext"
)

// Limits of a schema's text. The decoder reads each byte again at every level.
const (
	maxBytes   = 512 << 10
	maxNesting = 128
)

// Limits of the comparisons of values with schemas, including those behind references. One more comparison is counted for every ten values of an
// enumeration or names of properties, for every 16 bytes or parts of a value, which an error repeats, and for every 4 bytes in which a pattern
// is searched.
const (
	maxCost  = 2000      // for one value, whatever it contains
	maxSum   = 200_000   // for one value with each schema in a schema
	maxWork  = 4_000_000 // for a value with all that it contains; the validator needs about 0.3 µs for a comparison
	maxDepth = 10_000    // number of schemas that lead to each other; the validator's stack grows with it
)

// Kinds of errors.
var (
	// ErrCost means that the schema compares one value with too many schemas, or with itself.
	ErrCost = errors.New("compares one value with too many schemas, or with itself by $ref; simplify it")
	// ErrSize means that the text of the schema is too long or nested too deeply.
	ErrSize = fmt.Errorf("more than %d KiB or %d levels", maxBytes>>10, maxNesting)
	// ErrReference means that the schema refers to something outside itself, or in an unsupported way.
	ErrReference = errors.New("reference not supported")
)

// Schema is a validator that ends soon, whatever the value.
type Schema struct {
	*jsonschema.Resolved
	root any // the schema as a value
}

// CheckSize returns ErrSize if the text of a schema should not be decoded.
func CheckSize(text []byte) error {
	if len(text) > maxBytes || jsontext.Deeper(text, maxNesting) {
		return ErrSize
	}
	return nil
}

// Resolve returns the validator of the schema in text. Errors wrap ErrCost, ErrSize or ErrReference, or are those of the decoder and the
// validator.
func Resolve(text []byte) (*Schema, error) {
	if err := CheckSize(text); err != nil {
		return nil, err
	}
	// Check the schema as the validator reads it, which accepts "AllOf" for "allOf" and uses the last of
	// duplicate members.
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	// The validator refuses every value if it does not know the draft by this name. It has the rules of draft 7 and, without a name, of 2020-12.
	if draft := &schema.Schema; strings.Contains(*draft, "/draft-0") {
		*draft = "http://json-schema.org/draft-07/schema#"
	} else {
		*draft = ""
	}
	understood, err := json.Marshal(&schema)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(understood, &value); err != nil {
		return nil, err
	}
	c := &counter{root: value}
	if c.all(value, true); c.err != nil {
		return nil, c.err
	}
	resolved, err := schema.Resolve(nil) // fetches nothing
	return &Schema{resolved, value}, err
}

// Validate returns an error if the value does not match, or ErrCost if it is too large to be checked. A value consists of what
// encoding/json decodes.
func (s *Schema) Validate(value any) error {
	c := &counter{root: s.root, left: maxWork}
	if c.count(s.root, value); c.err != nil {
		return fmt.Errorf("the value is too large or nested too deeply for a schema that %w", c.err)
	}
	return s.Resolved.Validate(value)
}

// counter counts comparisons of values with schemas.
type counter struct {
	root               any // the schema that references lead into
	left, depth, spent int
	err                error // the first error
}

func (c *counter) fail(err error) { c.err = cmp.Or(c.err, err) }

// all checks a value and every schema that it may contain.
func (c *counter) all(value any, top bool) {
	list, _ := value.([]any)
	for _, item := range list {
		c.all(item, false)
	}
	c.left = maxCost
	c.count(value, nil)
	if c.spent += maxCost - c.left; c.spent > maxSum {
		c.fail(ErrCost)
	}
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

// count counts the comparisons of a value, and of what it contains, with a schema and with the schemas that this one leads to. It stops at the
// first error. A schema that is true or false costs nothing.
func (c *counter) count(of, value any) {
	schema, ok := of.(map[string]any)
	if !ok || c.err != nil {
		return
	}
	c.left -= cost(schema, value)
	if c.depth++; c.left < 0 || c.depth > maxDepth {
		c.fail(ErrCost)
	}
	items, _ := value.([]any)
	fields, _ := value.(map[string]any)
	for keyword, member := range schema {
		switch keyword {
		case "$ref":
			if text, ok := member.(string); ok {
				c.count(c.target(text), value)
			}
		case "not", "if", "then", "else":
			c.count(member, value)
		case "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies":
			for s := range within(member) {
				c.count(s, value)
			}
		case "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains":
			list, each := member.([]any)
			for i, item := range items {
				if !each {
					c.count(member, item)
				} else if i < len(list) {
					c.count(list[i], item)
				}
			}
		case "propertyNames":
			for name := range fields {
				c.count(member, name)
			}
		case "patternProperties":
			for s := range within(member) {
				for _, field := range fields {
					c.count(s, field)
				}
			}
		case "properties":
			members, _ := member.(map[string]any)
			for name, field := range fields {
				c.count(members[name], field)
			}
		case "additionalProperties", "unevaluatedProperties":
			members, _ := schema["properties"].(map[string]any)
			for name, field := range fields {
				if _, named := members[name]; !named {
					c.count(member, field)
				}
			}
		}
	}
	c.depth--
}

// cost counts the comparison of a value with one schema.
func cost(schema map[string]any, value any) int {
	enum, _ := schema["enum"].([]any)
	required, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	n := 1 + (len(enum)+len(required)+len(properties))/10 + jsontext.Size(value)/16
	if schema["pattern"] != nil {
		n += jsontext.Size(value) / 4
	}
	return n
}

// within returns the members of an object or a list.
func within(value any) iter.Seq[any] {
	if list, ok := value.([]any); ok {
		return slices.Values(list)
	}
	members, _ := value.(map[string]any)
	return maps.Values(members)
}

// target follows a pointer such as #/$defs/name. It returns nil if the pointer leads nowhere, which the validator reports.
func (c *counter) target(ref string) any {
	pointer, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil {
		return nil
	}
	return jsonpointer.Find(c.root, pointer)
}

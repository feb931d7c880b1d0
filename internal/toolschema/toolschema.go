// Package toolschema builds a validator from a tool's schema. The schemas of MCP servers come from generators for other
// validators: they contain regular expressions of JavaScript, and keywords of older drafts. Parts that this validator does not
// understand are not checked, so no tool is lost because of them.
package toolschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/schemacost"
	"github.com/tenonhq/tenon/internal/value"
)

// Resolve returns the validator of a schema. Errors: schemacost.ErrCost, schemacost.ErrSize, schemacost.ErrReference, and others for a text
// that is not a schema.
func Resolve(text json.RawMessage) (*schemacost.Schema, error) {
	if err := schemacost.CheckSize(text); err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	schema(value)
	known, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return schemacost.Resolve(known)
}

// CheckTypes returns an error for a type that JSON does not have, such as "str": most model servers refuse every request with it.
func CheckTypes(text json.RawMessage) error {
	var value any
	err := json.Unmarshal(text, &value)
	Each(value, func(schema map[string]any) {
		names, _ := schema["type"].([]any)
		if one, ok := schema["type"].(string); ok {
			names = []any{one}
		}
		for _, name := range names {
			if !slices.Contains([]any{"string", "number", "integer", "boolean", "object", "array", "null"}, name) {
				err = fmt.Errorf("the type %.40q is unknown", fmt.Sprint(name))
			}
		}
	})
	return err
}

// inside are the keywords whose value is a schema, or a list of schemas; see byName for others.
var inside = []string{
	"items", "prefixItems", "additionalItems", "additionalProperties", "contains", "propertyNames", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
}

// Each calls visit with every schema within a schema or a list of schemas, then with the schema itself.
func Each(value any, visit func(schema map[string]any)) {
	list, _ := value.([]any)
	for _, one := range list {
		Each(one, visit)
	}
	schema, ok := value.(map[string]any)
	if !ok {
		return // true or false
	}
	for keyword, value := range schema {
		if slices.Contains(inside, keyword) {
			Each(value, visit)
		} else if members, ok := value.(map[string]any); ok && slices.Contains(byName, keyword) {
			for _, one := range members {
				Each(one, visit)
			}
		}
	}
	visit(schema)
}

// Check validates arguments. Optional arguments may be null.
func Check(r *schemacost.Schema, args json.RawMessage) error {
	err := validate(r, args)
	if err != nil {
		if rest, had := WithoutNulls(r, args); had {
			return validate(r, rest)
		}
	}
	return err
}

func validate(r *schemacost.Schema, args json.RawMessage) error {
	var v any
	if err := value.Decode(args, &v); err != nil { // Decode copies a long text once, encoding/json twice
		return err
	}
	return r.Validate(v)
}

// WithoutNulls returns arguments without the members that are null and optional: many models write null for an argument that
// they omit. It reports whether there were any. It keeps a null that the schema of the member allows.
func WithoutNulls(r *schemacost.Schema, args json.RawMessage) (json.RawMessage, bool) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(args, &members) // other values have no members
	s := r.Schema()
	before := len(members)
	maps.DeleteFunc(members, func(name string, value json.RawMessage) bool {
		member, known := s.Properties[name]
		return known && string(value) == "null" && !slices.Contains(s.Required, name) && !allowsNull(member)
	})
	if len(members) == before {
		return args, false
	}
	rest, err := json.Marshal(members)
	return rest, err == nil
}

// allowsNull reports whether null can be meant as a value.
func allowsNull(s *jsonschema.Schema) bool {
	switch {
	case s == nil, s.Type == "" && len(s.Types) == 0 && s.Enum == nil && s.Const == nil && s.AnyOf == nil && s.OneOf == nil && s.AllOf == nil && s.Ref == "":
		return true
	case s.Type == "null", slices.Contains(s.Types, "null"), slices.Contains(s.Enum, nil), s.Const != nil && *s.Const == nil:
		return true
	}
	return s.Ref != "" || slices.ContainsFunc(slices.Concat(s.AnyOf, s.OneOf, s.AllOf), allowsNull)
}

// AllowsText reports whether a text can be meant as a value. Python servers describe an optional number by alternatives, and an object by a
// reference into defs.
func AllowsText(s *jsonschema.Schema, defs map[string]*jsonschema.Schema) bool {
	alternatives := slices.Concat(s.AnyOf, s.OneOf)
	switch def := defs[strings.TrimPrefix(s.Ref, "#/$defs/")]; {
	case s.Ref != "" && def != nil:
		return AllowsText(def, nil) // one reference: they can form a circle
	case s.Type != "" || len(s.Types) > 0:
		return s.Type == "string" || slices.Contains(s.Types, "string")
	}
	return len(alternatives) == 0 || slices.ContainsFunc(alternatives, func(a *jsonschema.Schema) bool { return AllowsText(a, defs) })
}

// byName are the keywords whose value is an object of schemas, see https://json-schema.org/draft/2020-12/json-schema-core, section 10,
// and the older drafts.
var byName = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}

// schema removes the parts of a schema that the validator does not know. It reports whether the schema now allows more than before.
func schema(value any) (wider bool) {
	if list, ok := value.([]any); ok {
		for _, member := range list {
			wider = schema(member) || wider
		}
		return wider
	}
	s, ok := value.(map[string]any)
	if !ok {
		return false
	}
	olderDrafts(s)
	wider = patterns(s)
	for key, member := range s {
		if key == "const" || key == "enum" {
			continue // values, not schemas
		}
		inside := false
		if members, ok := member.(map[string]any); ok && slices.Contains(byName, key) {
			for _, m := range members {
				inside = schema(m) || inside
			}
		} else {
			inside = schema(member)
		}
		if !inside {
			continue
		}
		wider = true
		switch key {
		case "not", "if", "contains": // allow less if their schemas allow more
			delete(s, key)
		case "oneOf": // likewise
			delete(s, key)
			all, _ := s["allOf"].([]any)
			s["allOf"] = append(all, map[string]any{"anyOf": member})
		}
	}
	return wider
}

// patterns removes regular expressions that Go does not support, such as look-around, and those that are too slow.
func patterns(s map[string]any) (wider bool) {
	if text, ok := s["pattern"].(string); ok && !compiles(text) {
		delete(s, "pattern")
		wider = true
	}
	members, _ := s["patternProperties"].(map[string]any)
	before := len(members)
	maps.DeleteFunc(members, func(name string, _ any) bool { return !compiles(name) })
	if len(members) < before { // the names of the removed patterns count as additional now
		delete(s, "additionalProperties")
		delete(s, "unevaluatedProperties")
		wider = true
	}
	return wider
}

// maxInstructions limits a regular expression, whose repetitions are written out. Each may be tried at every byte of a text.
const maxInstructions = 1000

func compiles(expression string) bool {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return false
	}
	program, err := syntax.Compile(parsed.Simplify())
	return err == nil && len(program.Inst) <= maxInstructions
}

// Current returns a schema in the terms of draft 2020-12, which strict model servers demand: they refuse every request with an older one.
func Current(text json.RawMessage) json.RawMessage {
	var value any
	if jsontext.DecodeExact(text, &value) != nil {
		return text // the server's error message is better
	}
	older := false
	Each(value, func(s map[string]any) {
		was := len(s)
		maps.DeleteFunc(s, func(keyword string, v any) bool { return v == nil && keyword != "default" && keyword != "const" })
		olderDrafts(s)
		older = len(s) < was || older // each change of these two removes a keyword
		older = tuples(s) || older
	})
	if !older {
		return text
	}
	out, _ := json.Marshal(value) // it was JSON
	return out
}

// tuples describes the items of a list with a schema for each position. Older drafts have them in items, and many servers only know a single
// schema there.
func tuples(s map[string]any) bool {
	list, found := s["items"].([]any)
	if s["items"] == nil || s["items"] == false {
		list, found = s["prefixItems"].([]any)
	}
	if !found {
		return false
	}
	for _, keyword := range []string{"additionalItems", "prefixItems", "items"} {
		delete(s, keyword)
	}
	if len(list) > 0 {
		s["prefixItems"], s["items"] = list, map[string]any{"anyOf": list}
	}
	return true
}

// olderDrafts converts keywords of the drafts 3 and 4 to those of today. In these drafts, exclusiveMinimum and exclusiveMaximum
// were booleans next to a limit, and required was a boolean of a property. See
// https://json-schema.org/draft-06/json-schema-release-notes.
func olderDrafts(s map[string]any) {
	for _, limit := range []string{"Minimum", "Maximum"} {
		plain, exclusive := strings.ToLower(limit), "exclusive"+limit
		is, ok := s[exclusive].(bool)
		if !ok {
			continue
		}
		delete(s, exclusive)
		if number := s[plain]; number != nil && is {
			delete(s, plain)
			s[exclusive] = number
		}
	}
	if _, ok := s["required"].(bool); ok {
		delete(s, "required")
	}
}

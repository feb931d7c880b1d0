package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/internal/jsonpointer"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
)

// maxDepth is the maximum depth of a tool's schema. Deeper parts become any object: the host checks the arguments against the schema itself.
const maxDepth = 32

// maxParts is the maximum number of schemas within a tool's schema, with 100 values and bytes of text that references repeat counted as one. A few
// definitions that refer to each other several times can expand to billions, and a long text that is referred to many times can fill the memory.
const maxParts = 20_000

// maxCyclic is the same for definitions that refer to themselves: those of Microsoft Graph become ten times as long before every path ends.
const maxCyclic = 1_000

// maxTypes is the number of types that exist.
const maxTypes = 7

// kept are the keywords of a schema that are sent unchanged, see https://ai.google.dev/api/caching#Schema.
var kept = []string{
	"description", "format", "nullable", "minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength", "pattern", "default", "title",
	"minProperties", "maxProperties", "propertyOrdering",
}

// parameters returns the schema of a tool's arguments in the subset of OpenAPI that the server accepts, or nil if
// the tool has no arguments.
func parameters(t *sdk.ToolDefinition) (any, error) {
	var root map[string]any
	if err := jsontext.DecodeExact(wire.Parameters(t, false), &root); err != nil {
		return nil, fmt.Errorf("schema of a tool: %w", err)
	}
	if properties, _ := root["properties"].(map[string]any); len(properties) == 0 && root["$ref"] == nil {
		return nil, nil
	}
	c := converter{root: root}
	out := c.schema(root, 0)
	if c.parts > maxParts || c.cyclic && c.parts > maxCyclic {
		c = converter{root: root, flat: true}
		out = c.schema(root, 0)
	}
	return out, nil
}

// converter converts the parts of one schema.
type converter struct {
	root  map[string]any
	parts int      // so far
	open  []string // the references that lead to the present part
	flat  bool     // references are not followed

	cyclic   bool // a reference led back to itself
	restored bool // a text became a value of an enumeration
}

// object is a converted schema, or the properties of one. Other objects, such as defaults, belong to the tool's schema.
type object map[string]any

func (c *converter) schema(v any, depth int) object {
	in, _ := v.(map[string]any)
	out := object{}
	required, _ := in["required"].([]any) // each name is compared with the names of other schemas
	if c.parts += 1 + len(required); depth > maxDepth || c.parts > maxParts {
		return object{"type": "object"}
	}
	if ref, ok := in["$ref"].(string); ok {
		return c.reference(ref, in, depth)
	}
	for _, name := range kept {
		if v, ok := in[name]; ok {
			out[name] = v
		}
	}
	types := typesOf(in)
	switch {
	case len(types) == 1:
		out["type"] = types[0]
	case len(types) > 1: // see alternatives
	case in["properties"] != nil:
		out["type"] = "object"
	case in["items"] != nil:
		out["type"] = "array"
	}
	if list, isList := in["type"].([]any); isList && len(types) < len(list) {
		out["nullable"] = true
	}
	if setEnum(out, in); out["enum"] != nil {
		types = nil // the values become texts, whatever their types
	}
	switch out["type"] {
	case "object":
		c.setProperties(out, in, depth)
	case "array":
		out["items"] = c.schema(in["items"], depth+1).typed()
	}
	all, _ := in["allOf"].([]any)
	for _, one := range all {
		mergeInto(out, c.schema(one, depth+1))
	}
	c.setAnyOf(out, alternatives(in, types), depth)
	return out
}

// reference returns the schema that a reference names. The server has no references: if one leads back to itself, only its type remains.
func (c *converter) reference(ref string, in map[string]any, depth int) object {
	target, own, merged := c.resolve(ref), maps.Clone(in), map[string]any{}
	delete(own, "$ref")
	again := slices.Contains(c.open, ref)
	c.cyclic = c.cyclic || again
	if again || c.flat && depth > 0 {
		merged["type"] = "object"
		if target["type"] != nil {
			merged["type"] = target["type"]
		} else if allowed(target) != nil {
			merged["type"] = "string" // see setEnum
		}
	} else {
		c.parts += jsontext.Size(target) / 100
		maps.Copy(merged, target) // it may be a reference too
	}
	maps.Copy(merged, own)
	c.open = append(c.open, ref)
	defer func() { c.open = c.open[:len(c.open)-1] }()
	return c.schema(merged, depth+1)
}

// typed returns the schema of a property, an item or an alternative, which must have a type.
func (o object) typed() object {
	if o["type"] == nil && o["anyOf"] == nil {
		o["type"] = "string"
	}
	return o
}

// resolve returns the definition that a reference within the schema names, or nil. It follows the decoded schema: encoding it for each
// reference would take seconds if there are many.
func (c *converter) resolve(ref string) map[string]any {
	pointer, within := strings.CutPrefix(ref, "#")
	if !within {
		return nil
	}
	target, _ := jsonpointer.Find(c.root, pointer).(map[string]any)
	return target
}

// allowed returns the values of an enumeration.
func allowed(in map[string]any) []any {
	if v, ok := in["const"]; ok {
		return []any{v}
	}
	values, _ := in["enum"].([]any)
	return values
}

// restored returns a call's arguments with the original values of enumerations, which setEnum turned into texts: the host checks the arguments
// against the tool's own schema.
func restored(t *sdk.ToolDefinition, args []byte) []byte {
	var c converter
	var v any
	if jsontext.DecodeExact(t.Parameters, &c.root) == nil && jsontext.DecodeExact(args, &v) == nil {
		v = c.restore(c.root, v)
	}
	if c.restored {
		args, _ = json.Marshal(v) // it was JSON
	}
	return args
}

// restore returns a value with the original values of enumerations. It does not look into objects and lists that have several alternatives: the
// value may be meant for any of them.
func (c *converter) restore(part, v any) any {
	in, _ := part.(map[string]any)
	if c.parts++; c.parts > maxParts { // perhaps recursive
		return v
	}
	if ref, ok := in["$ref"].(string); ok {
		v = c.restore(c.resolve(ref), v)
	}
	all, _ := in["allOf"].([]any)
	either := slices.DeleteFunc(slices.Clone(alternatives(in, nil)), isNull)
	if _, isText := v.(string); isText || len(either) == 1 {
		all = slices.Concat(all, either)
	}
	for _, one := range all {
		v = c.restore(one, v)
	}
	properties, _ := in["properties"].(map[string]any)
	switch v := v.(type) {
	case string:
		c.parts += len(allowed(in)) / 10
		for _, one := range allowed(in) {
			if _, isText := one.(string); !isText && fmt.Sprint(one) == v {
				c.restored = true
				return one
			}
		}
	case map[string]any:
		for name := range v {
			v[name] = c.restore(properties[name], v[name])
		}
	case []any:
		for i := range v {
			v[i] = c.restore(in["items"], v[i])
		}
	}
	return v
}

// setEnum sets the allowed values, which the server accepts only as texts.
func setEnum(out object, in map[string]any) {
	var texts []string
	for _, v := range allowed(in) {
		if v == nil {
			out["nullable"] = true
			continue
		}
		texts = append(texts, fmt.Sprint(v))
	}
	if texts != nil {
		out["enum"], out["type"] = texts, "string"
	}
}

func (c *converter) setProperties(out object, in map[string]any, depth int) {
	from, _ := in["properties"].(map[string]any)
	if len(from) == 0 {
		return
	}
	properties := object{}
	for name, v := range from {
		properties[name] = c.schema(v, depth+1).typed()
	}
	out["properties"] = properties
	list, _ := in["required"].([]any)
	required := slices.DeleteFunc(slices.Clone(list), func(v any) bool {
		name, ok := v.(string)
		return !ok || properties[name] == nil
	})
	if len(required) > 0 {
		out["required"] = required
	}
}

// typesOf returns the types of a schema, without null if it lists several.
func typesOf(in map[string]any) []any {
	switch t := in["type"].(type) {
	case string:
		return []any{t}
	case []any:
		return slices.DeleteFunc(slices.Clone(t[:min(len(t), maxTypes)]), func(v any) bool { return v == "null" })
	}
	return nil
}

// alternatives returns the schemas of which one must match: those in anyOf or oneOf, else one for each of several types.
func alternatives(in map[string]any, types []any) []any {
	for _, name := range []string{"anyOf", "oneOf"} {
		if list, _ := in[name].([]any); list != nil {
			return list
		}
	}
	if len(types) < 2 {
		return nil
	}
	var list []any
	for _, one := range types {
		variant := maps.Clone(in)
		variant["type"] = one
		delete(variant, "description")
		list = append(list, variant)
	}
	return list
}

func isNull(part any) bool {
	in, _ := part.(map[string]any)
	return in["type"] == "null"
}

// setAnyOf sets the alternatives. A single one is merged, and null becomes nullable. The server refuses alternatives without a type, and those next to
// a type: of alternatives that only refine a type, only the properties remain.
func (c *converter) setAnyOf(out object, list []any, depth int) {
	variants := slices.DeleteFunc(slices.Clone(list), isNull)
	if len(variants) < len(list) {
		out["nullable"] = true
	}
	own := out["type"]
	for i, v := range variants {
		variant := c.schema(v, depth+1)
		switch {
		case len(variants) == 1:
			mergeInto(out, variant)
		case own == nil:
			variants[i] = variant.typed()
		case own == "object" && variant["properties"] != nil:
			joinEnums(out, variant)
			mergeInto(out, object{"properties": variant["properties"]})
		}
	}
	if own == nil && len(variants) > 1 {
		out["anyOf"] = variants
	}
}

// joinEnums adds the allowed values of an alternative's properties, such as a tag with another value in each, to those of the same properties of out.
func joinEnums(out, variant object) {
	all, _ := out["properties"].(object)
	for name, v := range variant["properties"].(object) {
		own, _ := all[name].(object)
		values, _ := own["enum"].([]string)
		more, _ := v.(object)["enum"].([]string)
		for _, one := range more {
			if values != nil && !slices.Contains(values, one) {
				values = append(values, one)
				own["enum"] = values
			}
		}
	}
}

// mergeInto adds the keywords of more to out. Existing keywords take precedence, and properties and items of both are merged.
func mergeInto(out, more object) {
	for name, v := range more {
		switch own := out[name].(type) {
		case nil:
			out[name] = v
		case object:
			mergeInto(own, v.(object))
		case []any:
			list, _ := v.([]any)
			for _, one := range list {
				if name == "required" && !slices.Contains(own, one) {
					own = append(own, one)
				}
			}
			out[name] = own
		}
	}
}

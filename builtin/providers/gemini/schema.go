package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// maxDepth is the maximum depth of a tool's schema; recursive schemas cannot be written without $ref.
const maxDepth = 32

// kept are the keywords of a schema that the server takes unchanged, see https://ai.google.dev/api/caching#Schema.
var kept = []string{
	"description", "format", "nullable", "minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength", "pattern", "default", "title",
	"minProperties", "maxProperties", "propertyOrdering",
}

// parameters returns the schema of a tool's arguments as the subset of OpenAPI that the server takes, or nil if the tool takes no
// arguments.
func parameters(t *sdk.ToolDefinition) (any, error) {
	var root map[string]any
	if err := json.Unmarshal(wire.ObjectParameters(t), &root); err != nil {
		return nil, fmt.Errorf("schema of a tool: %w", err)
	}
	if properties, _ := root["properties"].(map[string]any); len(properties) == 0 && root["$ref"] == nil {
		return nil, nil
	}
	return converter{root}.schema(root, 0)
}

// converter converts the parts of one schema.
type converter struct{ root map[string]any }

func (c converter) schema(v any, depth int) (map[string]any, error) {
	in, _ := v.(map[string]any)
	if depth > maxDepth {
		return nil, fmt.Errorf("schema of a tool: nested deeper than %d levels, or recursive", maxDepth)
	}
	if ref, ok := in["$ref"].(string); ok {
		target, err := c.resolve(ref)
		if err != nil {
			return nil, err
		}
		merged := maps.Clone(target)
		for name, value := range in {
			if name != "$ref" {
				merged[name] = value
			}
		}
		return c.schema(merged, depth+1)
	}
	out := map[string]any{}
	for _, name := range kept {
		if value, ok := in[name]; ok {
			out[name] = value
		}
	}
	if err := c.setType(out, in, depth); err != nil {
		return nil, err
	}
	setEnum(out, in)
	if out["type"] == "object" {
		if err := c.setProperties(out, in, depth); err != nil {
			return nil, err
		}
	}
	if out["type"] == "array" {
		items, err := c.schema(in["items"], depth+1)
		if err != nil {
			return nil, err
		}
		if items["type"] == nil && items["anyOf"] == nil {
			items["type"] = "string"
		}
		out["items"] = items
	}
	return out, c.setAnyOf(out, in, depth)
}

// resolve returns the definition that a reference within the schema names.
func (c converter) resolve(ref string) (map[string]any, error) {
	rest, ok := strings.CutPrefix(ref, "#")
	var at any = c.root
	for _, name := range strings.Split(strings.TrimPrefix(rest, "/"), "/") {
		if name == "" {
			continue
		}
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		object, _ := at.(map[string]any)
		at = object[name]
	}
	target, found := at.(map[string]any)
	if !ok || !found {
		return nil, fmt.Errorf("schema of a tool: reference %q not found", ref)
	}
	return target, nil
}

// setType sets the type. A list of types becomes anyOf, and null in it nullable.
func (c converter) setType(out, in map[string]any, depth int) error {
	switch t := in["type"].(type) {
	case string:
		out["type"] = t
	case []any:
		types := slices.DeleteFunc(slices.Clone(t), func(v any) bool { return v == "null" })
		if len(types) < len(t) {
			out["nullable"] = true
		}
		if len(types) == 1 {
			out["type"] = types[0]
			return nil
		}
		var any []any
		for _, one := range types {
			variant := maps.Clone(in)
			variant["type"] = one
			delete(variant, "anyOf")
			schema, err := c.schema(variant, depth+1)
			if err != nil {
				return err
			}
			delete(schema, "description")
			any = append(any, schema)
		}
		out["anyOf"] = any
	default:
		if in["properties"] != nil {
			out["type"] = "object"
		} else if in["items"] != nil {
			out["type"] = "array"
		}
	}
	return nil
}

// setEnum sets the allowed values, which the server takes as texts only.
func setEnum(out, in map[string]any) {
	values, _ := in["enum"].([]any)
	if value, ok := in["const"]; ok {
		values = []any{value}
	}
	var texts []string
	for _, v := range values {
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

func (c converter) setProperties(out, in map[string]any, depth int) error {
	from, _ := in["properties"].(map[string]any)
	if len(from) == 0 {
		return nil
	}
	properties := map[string]any{}
	for name, v := range from {
		property, err := c.schema(v, depth+1)
		if err != nil {
			return err
		}
		if property["type"] == nil && property["anyOf"] == nil {
			property["type"] = "string"
		}
		properties[name] = property
	}
	out["properties"] = properties
	var required []any
	list, _ := in["required"].([]any)
	for _, v := range list {
		if name, ok := v.(string); ok && properties[name] != nil {
			required = append(required, name)
		}
	}
	if required != nil {
		out["required"] = required
	}
	return nil
}

// setAnyOf sets the alternatives. oneOf becomes anyOf, the parts of allOf are merged, and null becomes nullable.
func (c converter) setAnyOf(out, in map[string]any, depth int) error {
	all, _ := in["allOf"].([]any)
	for _, v := range all {
		one, err := c.schema(v, depth+1)
		if err != nil {
			return err
		}
		mergeInto(out, one)
	}
	list, _ := in["anyOf"].([]any)
	if list == nil {
		list, _ = in["oneOf"].([]any)
	}
	var variants []any
	for _, v := range list {
		if m, _ := v.(map[string]any); m["type"] == "null" {
			out["nullable"] = true
			continue
		}
		variant, err := c.schema(v, depth+1)
		if err != nil {
			return err
		}
		variants = append(variants, variant)
	}
	if len(variants) == 1 {
		mergeInto(out, variants[0].(map[string]any))
	} else if variants != nil {
		out["anyOf"] = variants
		delete(out, "type")
	}
	return nil
}

// mergeInto adds the keywords of a schema to another, which wins.
func mergeInto(out, more map[string]any) {
	for name, v := range more {
		to, toOK := out[name].(map[string]any)
		from, fromOK := v.(map[string]any)
		switch {
		case name == "properties" && toOK && fromOK:
			maps.Copy(to, from)
		case name == "required" && out[name] != nil:
			list, _ := v.([]any)
			out[name] = append(out[name].([]any), list...)
		case out[name] == nil:
			out[name] = v
		}
	}
}

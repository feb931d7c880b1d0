package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// Parameters returns the schema of a tool in the form that the server takes.
func (c *Client) Parameters(m *sdk.Model, t *sdk.ToolDefinition) json.RawMessage {
	raw := wire.Parameters(t)
	name := strings.ToLower(wire.APIName(m))
	var convert func(map[string]any) map[string]any
	switch {
	case c.Info.NPM == "@ai-sdk/openai" || c.Info.NPM == Azure:
		convert = reduced
	case strings.Contains(name, "kimi") || strings.Contains(name, "moonshot"):
		convert = plainReferences
	case c.Info.NPM == "@ai-sdk/xai":
		convert = openObjects
	case bytes.Contains(raw, []byte(`"properties"`)):
		return raw
	default:
		convert = maps.Clone[map[string]any]
	}
	var schema map[string]any
	if json.Unmarshal(raw, &schema) != nil {
		return raw // the server refuses it with a better message
	}
	schema = convert(schema)
	if schema["properties"] == nil && schema["$ref"] == nil { // OpenAI's models at every gateway, and LM Studio, refuse objects without
		schema["type"], schema["properties"] = "object", map[string]any{}
	}
	out, _ := json.Marshal(schema) // it was JSON
	return out
}

// each returns a copy of a schema in which convert replaced every schema within it.
func each(schema map[string]any, convert func(map[string]any) map[string]any) map[string]any {
	out := maps.Clone(schema)
	for name, v := range out {
		switch v := v.(type) {
		case map[string]any:
			if slices.Contains([]string{"properties", "$defs", "definitions", "patternProperties"}, name) {
				inner := maps.Clone(v)
				for key, one := range inner {
					if schema, ok := one.(map[string]any); ok {
						inner[key] = convert(schema)
					}
				}
				out[name] = inner
			} else if slices.Contains([]string{"items", "additionalProperties", "not"}, name) {
				out[name] = convert(v)
			}
		case []any:
			if slices.Contains([]string{"anyOf", "oneOf", "allOf", "items", "prefixItems"}, name) {
				inner := slices.Clone(v)
				for i, one := range inner {
					if schema, ok := one.(map[string]any); ok {
						inner[i] = convert(schema)
					}
				}
				out[name] = inner
			}
		}
	}
	return out
}

// reduced returns a schema with the keywords that OpenAI's servers take, as opencode's provider/transform.ts does.
func reduced(schema map[string]any) map[string]any {
	out := each(schema, reduced)
	if value, ok := out["const"]; ok && out["enum"] == nil {
		out["enum"] = []any{value}
	}
	maps.DeleteFunc(out, func(name string, _ any) bool {
		return !slices.Contains([]string{
			"$ref", "description", "enum", "properties", "required", "items", "additionalProperties", "anyOf", "oneOf", "allOf", "$defs", "type",
		}, name)
	})
	if out["type"] == nil && out["enum"] == nil && out["$ref"] == nil && out["anyOf"] == nil && out["oneOf"] == nil && out["allOf"] == nil {
		out["type"] = inferred(out)
	}
	if out["type"] == "object" && out["properties"] == nil {
		out["properties"] = map[string]any{}
	}
	if out["type"] == "array" && out["items"] == nil {
		out["items"] = map[string]any{"type": "string"}
	}
	properties, _ := out["properties"].(map[string]any)
	for name, v := range properties {
		if v == true {
			properties[name] = map[string]any{"type": "string"}
		}
	}
	return out
}

// inferred returns the type of a schema that names none.
func inferred(schema map[string]any) string {
	switch {
	case schema["properties"] != nil || schema["additionalProperties"] != nil:
		return "object"
	case schema["items"] != nil:
		return "array"
	}
	return "string"
}

// plainReferences returns a schema for Moonshot's servers: they refuse keywords next to $ref, and lists of item types.
func plainReferences(schema map[string]any) map[string]any {
	if ref, ok := schema["$ref"]; ok {
		return map[string]any{"$ref": ref}
	}
	out := each(schema, plainReferences)
	if items, ok := out["items"].([]any); ok {
		delete(out, "items")
		if len(items) > 0 {
			out["items"] = items[0]
		}
	}
	return out
}

// openObjects returns a schema without additionalProperties: false, which xAI's servers refuse.
func openObjects(schema map[string]any) map[string]any {
	out := each(schema, openObjects)
	if out["additionalProperties"] == false {
		delete(out, "additionalProperties")
	}
	return out
}

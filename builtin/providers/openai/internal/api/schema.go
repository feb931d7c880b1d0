package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/internal/toolschema"
	"github.com/tenonhq/tenon/sdk"
)

// Parameters returns the schema of a tool in the form that the server takes.
func (c *Client) Parameters(m *sdk.Model, t *sdk.ToolDefinition) json.RawMessage {
	name := strings.ToLower(wire.APIName(m))
	raw := wire.Parameters(t, strings.Contains(name, "claude")) // behind a gateway
	var adapt func(schema map[string]any)
	switch {
	case c.Info.NPM == "@ai-sdk/openai" || c.Info.NPM == Azure:
		adapt = reduce
	case strings.Contains(name, "kimi") || strings.Contains(name, "moonshot"):
		adapt = plainReferences
	case c.Info.NPM == "@ai-sdk/xai":
		adapt = openObjects
	case (strings.Contains(name, "gpt-") || Reasons(m)) && bytes.Contains(raw, []byte(`"array"`)): // behind a gateway
		adapt = setItems
	default:
		return raw
	}
	var schema map[string]any
	if json.Unmarshal(raw, &schema) != nil || schema == nil {
		return raw // the server's error message is better than ours
	}
	toolschema.Each(schema, adapt)
	out, _ := json.Marshal(schema) // it was JSON
	return out
}

// reduce removes the keywords that OpenAI's servers do not take, as opencode's provider/transform.ts does. It keeps definitions, the name of $defs
// until draft 7: the servers refuse every request with a reference that leads nowhere.
func reduce(schema map[string]any) {
	if value, ok := schema["const"]; ok && schema["enum"] == nil {
		schema["enum"] = []any{value}
	}
	maps.DeleteFunc(schema, func(name string, _ any) bool {
		return !slices.Contains([]string{
			"$ref", "description", "enum", "properties", "required", "items", "additionalProperties", "anyOf", "oneOf", "allOf", "$defs", "definitions", "type",
		}, name)
	})
	typed := func(name string) bool { return schema[name] != nil }
	if !slices.ContainsFunc([]string{"type", "enum", "$ref", "anyOf", "oneOf", "allOf"}, typed) {
		schema["type"] = inferred(schema)
	}
	if schema["type"] == "object" && schema["properties"] == nil {
		schema["properties"] = map[string]any{}
	}
	setItems(schema)
	properties, _ := schema["properties"].(map[string]any)
	for name, v := range properties {
		if v == true {
			properties[name] = map[string]any{"type": "string"}
		}
	}
}

// setItems names the type of items, without which OpenAI's servers refuse a list.
func setItems(schema map[string]any) {
	if schema["type"] == "array" && schema["items"] == nil {
		schema["items"] = map[string]any{"type": "string"}
	}
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

// plainReferences adapts a schema to Moonshot's servers: they refuse keywords next to $ref, and lists of item types.
func plainReferences(schema map[string]any) {
	if schema["$ref"] != nil {
		maps.DeleteFunc(schema, func(name string, _ any) bool { return !slices.Contains([]string{"$ref", "$defs", "definitions"}, name) })
	}
	if items, ok := schema["items"].([]any); ok {
		delete(schema, "items")
		if len(items) > 0 {
			schema["items"] = items[0]
		}
	}
	delete(schema, "prefixItems")
}

// openObjects removes additionalProperties: false, which xAI's servers refuse.
func openObjects(schema map[string]any) {
	if schema["additionalProperties"] == false {
		delete(schema, "additionalProperties")
	}
}

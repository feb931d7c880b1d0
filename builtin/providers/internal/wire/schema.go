package wire

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// ObjectParameters is Parameters for servers that take only an object without alternatives: Anthropic's, Google's, and Bedrock's for Claude. The
// properties of the alternatives become optional; the host checks the arguments against the schema itself.
func ObjectParameters(t *sdk.ToolDefinition) json.RawMessage {
	raw := Parameters(t)
	var schema map[string]json.RawMessage
	if json.Unmarshal(raw, &schema) != nil {
		return raw // the server refuses it with a better message
	}
	properties := map[string]json.RawMessage{}
	changed := string(schema["type"]) != `"object"`
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		var alternatives []struct{ Properties map[string]json.RawMessage }
		if schema[name] != nil && json.Unmarshal(schema[name], &alternatives) == nil {
			for _, one := range alternatives {
				maps.Copy(properties, one.Properties)
			}
		}
		changed = changed || schema[name] != nil
		delete(schema, name)
	}
	var own map[string]json.RawMessage
	if !changed || schema["properties"] != nil && json.Unmarshal(schema["properties"], &own) != nil {
		return raw
	}
	maps.Copy(properties, own)
	schema["type"] = json.RawMessage(`"object"`)
	if len(properties) > 0 {
		schema["properties"], _ = json.Marshal(properties) // it was JSON
	}
	out, _ := json.Marshal(schema) // likewise
	return out
}

// Parameters returns the schema of a tool's arguments; a tool without one takes an empty object.
func Parameters(t *sdk.ToolDefinition) json.RawMessage {
	if len(t.Parameters) == 0 || string(t.Parameters) == "null" {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Parameters
}

// EachSchema returns a copy of a JSON schema in which convert replaced every schema directly within it.
func EachSchema(schema map[string]any, convert func(map[string]any) map[string]any) map[string]any {
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

package gemini

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// parameters returns the schema of a tool's arguments, or nil if the tool takes no arguments.
func parameters(t *sdk.ToolDefinition) any {
	raw := wire.ObjectParameters(t)
	var schema map[string]any
	if json.Unmarshal(raw, &schema) != nil {
		return raw // the server refuses it with a better message
	}
	if properties, _ := schema["properties"].(map[string]any); len(properties) == 0 && schema["$ref"] == nil {
		return nil
	}
	return accepted(schema)
}

// accepted returns a schema in the form that the server takes: it knows enum and $defs, but not $schema, const and the older name definitions, and
// beside $ref only keywords that begin with $. See https://ai.google.dev/api/generate-content#GenerationConfig, "responseJsonSchema".
func accepted(schema map[string]any) map[string]any {
	out := wire.EachSchema(schema, accepted)
	delete(out, "$schema")
	if value, ok := out["const"]; ok {
		out["enum"] = []any{value}
		delete(out, "const")
	}
	if older, ok := out["definitions"].(map[string]any); ok {
		defs, _ := out["$defs"].(map[string]any)
		maps.Copy(older, defs) // EachSchema made a copy
		out["$defs"] = older
		delete(out, "definitions")
	}
	if ref, ok := out["$ref"].(string); ok {
		maps.DeleteFunc(out, func(name string, _ any) bool { return !strings.HasPrefix(name, "$") })
		out["$ref"] = strings.Replace(ref, "#/definitions/", "#/$defs/", 1)
	}
	return out
}

package wire

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/sdk"
)

// claudeProperty matches the names of properties that Anthropic's servers, and Bedrock's for Claude, take at the top of a schema. Their message is
// "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
var claudeProperty = lazyregexp.New(`^[a-zA-Z0-9_.-]{1,64}$`)

// describeOthers moves properties with other names, such as filter[id] or $top, from a schema into its description, which is enough for the
// model to use them: each would fail every request.
func describeOthers(raw json.RawMessage) json.RawMessage {
	other := func(name string, _ json.RawMessage) bool { return !claudeProperty().MatchString(name) }
	found := false
	jsontext.EachField(jsontext.Field(raw, "properties"), func(key, _ []byte) bool {
		found = other(jsontext.Name(key), nil)
		return !found
	})
	var schema, properties map[string]json.RawMessage
	if !found || json.Unmarshal(raw, &schema) != nil || json.Unmarshal(schema["properties"], &properties) != nil {
		return raw
	}
	described := maps.Clone(properties)
	maps.DeleteFunc(described, func(name string, _ json.RawMessage) bool { return !other(name, nil) })
	maps.DeleteFunc(properties, other)
	list, _ := json.Marshal(described) // cannot fail, nor can the next ones: decoded from JSON
	text := strings.TrimSpace(jsontext.StringField(raw, "description") + "\n\nFurther properties: " + string(list))
	schema["description"], _ = json.Marshal(text)
	schema["properties"], _ = json.Marshal(properties)
	delete(schema, "additionalProperties")
	out, _ := json.Marshal(schema)
	return out
}

// ForcesTools reports whether the server can force a model to call a tool in requests without the options of reasoning. Claude Fable, and
// others from 5.1 on, reason in all requests, and the server refuses to force them.
func ForcesTools(name string) bool {
	return ClaudeVersion(name) < 501 && !strings.Contains(strings.ToLower(name), "claude-fable")
}

// Thinking returns the options of Claude's reasoning, or nil if they do not turn it on.
func Thinking(options sdk.Object) sdk.Object {
	thinking, _ := AsObject(options["thinking"])
	if kind := Scalar(thinking["type"]); kind != "enabled" && kind != "adaptive" {
		return nil
	}
	return thinking
}

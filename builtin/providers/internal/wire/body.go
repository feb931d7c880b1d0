package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// Body is the JSON object of a request, its fields in the order they are written.
type Body []field

type field struct {
	name  string
	value any
}

func (b *Body) index(name string) int {
	return slices.IndexFunc(*b, func(f field) bool { return f.name == name })
}

// Set sets a field that is not set yet.
func (b *Body) Set(name string, value any) { *b = append(*b, field{name, value}) }

// Sampling returns the sampling parameters that are set. topP and topK are the format's names; an empty one leaves its parameter out.
func Sampling(p *sdk.ChatParams, topP, topK string) sdk.Object {
	out := sdk.Object{}
	if p.Temperature != nil {
		out["temperature"] = *p.Temperature
	}
	if p.TopP != nil {
		out[topP] = *p.TopP
	}
	if p.TopK != nil {
		out[topK] = *p.TopK
	}
	delete(out, "")
	return out
}

// Merge applies options to the body: an object is merged with an existing object, null removes a field, any other
// value replaces it.
func (b *Body) Merge(options sdk.Object) {
	for _, name := range slices.Sorted(maps.Keys(options)) { // sorted, so that equal requests have equal bodies
		i, value := b.index(name), options[name]
		switch {
		case value != nil && i >= 0:
			(*b)[i].value = Joined((*b)[i].value, value)
		case value != nil:
			*b = append(*b, field{name, value})
		case i >= 0:
			*b = slices.Delete(*b, i, i+1)
		}
	}
}

// Joined merges over into a copy of under if both are objects, and returns over otherwise. It changes neither.
func Joined(under, over any) any {
	u, uok := AsObject(under)
	o, ook := AsObject(over)
	if !uok || !ook {
		return over
	}
	out := make(sdk.Object, len(u)+len(o))
	maps.Copy(out, u)
	maps.Copy(out, o)
	return out
}

// Renamed returns options under their names in a format: names has the path of an option, such as reasoning.effort, or "" for one that is
// not a field of the body. Configurations for the AI SDK use other names. If an option is set under both names, the format's wins.
func Renamed(options sdk.Object, names map[string]string) sdk.Object {
	out := make(sdk.Object, len(options))
	for _, name := range slices.Sorted(maps.Keys(options)) {
		outer, inner, nested := strings.Cut(names[name], ".")
		switch {
		case nested:
			out[outer] = Joined(out[outer], sdk.Object{inner: options[name]})
		case outer != "":
			out[outer] = options[name]
		}
	}
	for name, value := range options {
		if _, ok := names[name]; !ok {
			out[name] = Joined(out[name], value)
		}
	}
	return out
}

// AsObject returns v if it is an object.
func AsObject(v any) (sdk.Object, bool) {
	switch v := v.(type) {
	case sdk.Object:
		return v, true
	case map[string]any:
		return v, true
	}
	return nil, false
}

// Encode writes the body into one buffer of about size bytes. The error names the field that cannot be encoded.
func (b Body) Encode(size int) (out []byte, err error) {
	out = append(make([]byte, 0, size), '{')
	for i, f := range b {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = value.AppendJSON(fmt.Appendf(out, "%q:", f.name), f.value); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return append(out, '}'), nil
}

// SizeOf estimates the size of a request's body in bytes. A buffer of the right size halves the work of a long
// conversation.
func SizeOf(req *sdk.ModelRequest) int {
	const each = 96 // names and punctuation of an entry
	size := 1 << 10
	for _, s := range req.System {
		size += len(s)
	}
	for i := range req.Tools {
		size += each + len(req.Tools[i].Description) + len(req.Tools[i].Parameters)
	}
	for i := range req.Messages {
		for j := range req.Messages[i].Content {
			c := &req.Messages[i].Content[j]
			size += each + len(c.Text) + len(c.Args) + len(c.URL)
		}
	}
	return size + size/8 // escapes
}

// APIName returns the server's name of the model.
func APIName(m *sdk.Model) string {
	return cmp.Or(m.APIID, m.ID)
}

// alternatives are keywords that most servers refuse at the top of a schema. OpenAI's message is "schema must have type 'object' and not have
// 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level".
var alternatives = []string{"anyOf", "oneOf", "allOf", "enum", "not"}

// Parameters returns the schema of a tool's arguments as an object with properties and without alternatives: OpenAI's servers, also behind
// gateways, Anthropic's, Google's, and Bedrock's for Claude take no other. The properties of the alternatives become optional; the host checks
// the arguments against the schema itself. claude is set for Claude, which takes fewer names of properties.
func Parameters(t *sdk.ToolDefinition, claude bool) json.RawMessage {
	if claude {
		return describeOthers(object(t.Parameters))
	}
	return object(t.Parameters)
}

// object is Parameters for other models than Claude.
func object(raw json.RawMessage) json.RawMessage {
	if !Present(raw) {
		raw = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	plain := jsontext.StringField(raw, "type") == "object" && (jsontext.IsObject(jsontext.First(raw, "properties")) || jsontext.First(raw, "$ref") != nil)
	jsontext.EachField(raw, func(key, _ []byte) bool {
		plain = plain && !slices.Contains(alternatives, string(key))
		return plain
	})
	var schema, own map[string]json.RawMessage
	if plain || json.Unmarshal(raw, &schema) != nil || schema == nil || schema["properties"] != nil && json.Unmarshal(schema["properties"], &own) != nil {
		return raw // of an invalid schema, the server's own error message is better
	}
	properties := map[string]json.RawMessage{}
	for _, name := range alternatives {
		var members []struct{ Properties map[string]json.RawMessage }
		if schema[name] != nil && json.Unmarshal(schema[name], &members) == nil {
			for _, one := range members {
				maps.Copy(properties, one.Properties)
			}
		}
		delete(schema, name)
	}
	maps.Copy(properties, own)
	schema["type"] = json.RawMessage(`"object"`)
	if len(properties) > 0 || schema["$ref"] == nil {
		schema["properties"], _ = json.Marshal(properties) // cannot fail: decoded from JSON
	}
	out, _ := json.Marshal(schema) // cannot fail either
	return out
}

// Present reports whether a field is set and not null.
func Present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// Text returns the string in raw, or "" if raw is not a string.
func Text(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	if text := raw[1 : len(raw)-1]; !bytes.ContainsRune(text, '\\') && utf8.Valid(text) {
		return string(text) // covers nearly all deltas; a second decoder would double their cost
	}
	var s string
	_ = Unmarshal(raw, &s) // leaves it empty if it fails
	return s
}

// ArgumentsText returns the arguments of a tool call, or a piece of them. Some servers send an object instead of its text.
func ArgumentsText(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '{' {
		return string(raw)
	}
	return Text(raw)
}

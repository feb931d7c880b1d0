package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// body is the JSON object of a request, its fields in the order they are written.
type body []field

type field struct {
	name  string
	value any
}

func (b *body) index(name string) int {
	return slices.IndexFunc(*b, func(f field) bool { return f.name == name })
}

func (b *body) set(name string, value any) {
	if i := b.index(name); i >= 0 {
		(*b)[i].value = value
		return
	}
	*b = append(*b, field{name, value})
}

// merge applies options to the body: an object is merged with an existing object, null removes a field, any other
// value replaces it.
func (b *body) merge(options sdk.Object) {
	for _, name := range slices.Sorted(maps.Keys(options)) { // sorted, so that equal requests have equal bodies
		i, value := b.index(name), options[name]
		switch {
		case value != nil && i >= 0:
			(*b)[i].value = joined((*b)[i].value, value)
		case value != nil:
			*b = append(*b, field{name, value})
		case i >= 0:
			*b = slices.Delete(*b, i, i+1)
		}
	}
}

// joined merges over into under if both are objects, else it returns over. It changes neither.
func joined(under, over any) any {
	u, uok := asObject(under)
	o, ook := asObject(over)
	if !uok || !ook {
		return over
	}
	out := make(sdk.Object, len(u)+len(o))
	maps.Copy(out, u)
	maps.Copy(out, o)
	return out
}

func asObject(v any) (sdk.Object, bool) {
	switch v := v.(type) {
	case sdk.Object:
		return v, true
	case map[string]any:
		return v, true
	}
	return nil, false
}

// encode writes the body into one buffer of about size bytes. The error names the field that cannot be encoded.
func (b body) encode(size int) (out []byte, err error) {
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

// sizeOf estimates the size of a request's body in bytes. A buffer of the right size halves the work of a long
// conversation.
func sizeOf(req *sdk.ModelRequest) int {
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

// apiName returns the server's name of the model.
func apiName(m *sdk.Model) string {
	return cmp.Or(m.APIID, m.ID)
}

// parameters returns the schema of a tool's arguments; a tool without one takes an empty object.
func parameters(t *sdk.ToolDefinition) json.RawMessage {
	if len(t.Parameters) == 0 || string(t.Parameters) == "null" {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Parameters
}

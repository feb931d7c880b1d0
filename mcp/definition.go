package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tenonhq/tenon/internal/schemacost"
	"github.com/tenonhq/tenon/internal/visible"
)

// Definition is what a server says it offers: what the model and the host get to know of it, and what the user approves.
type Definition struct {
	Title        string        `json:"title,omitempty"` // the server's own name and version
	Protocol     string        `json:"protocol,omitempty"`
	Instructions string        `json:"instructions,omitempty"`
	Tools        []Tool        `json:"tools,omitempty"`
	Prompts      []Prompt      `json:"prompts,omitempty"`
	Resources    bool          `json:"resources,omitempty"`
	Interceptors []Interceptor `json:"interceptors,omitempty"`
}

// Tool is a tool as the server describes it.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  Annotations     `json:"annotations,omitzero"`
	Execution    Execution       `json:"execution,omitzero"`
}

// Execution says how a tool wants to be called.
type Execution struct {
	TaskSupport string `json:"taskSupport,omitempty"`
}

// Annotations are what a server says about the effects of a tool. They are hints of a stranger: nothing is permitted because of them.
type Annotations struct {
	Title    string `json:"title,omitempty"`
	ReadOnly bool   `json:"readOnlyHint,omitempty"`
	// Others are compared, but not used.
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// Prompt is a prompt as the server describes it.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
}

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// tool returns the tool of that name.
func (d *Definition) tool(name string) (Tool, bool) {
	if d != nil {
		for _, t := range d.Tools {
			if t.Name == name {
				return t, true
			}
		}
	}
	return Tool{}, false
}

// decodeTool decodes one element of a list of tools.
func decodeTool(raw json.RawMessage) (Tool, error) {
	var t Tool
	if err := json.Unmarshal(raw, &t); err != nil {
		return Tool{}, err
	}
	if t.Name == "" {
		return Tool{}, errors.New("it has no name")
	}
	if len(t.OutputSchema) > 0 && string(t.OutputSchema) == "null" {
		t.OutputSchema = nil
	}
	return t, nil
}

// usable says why a tool cannot be offered.
func (t *Tool) usable() error {
	parameters, err := t.parameters()
	if err != nil {
		return err
	}
	if _, err := resolveSchema(parameters); err != nil {
		return fmt.Errorf("its inputSchema is not valid: %w", err)
	}
	return nil
}

// parameters returns the tool's schema as the model gets it, byte for byte; a schema that does not say that it is one of an object is
// given that.
func (t *Tool) parameters() (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(t.InputSchema, &fields); err != nil || fields == nil {
		return nil, errors.New("its inputSchema is no object")
	}
	switch kind := string(fields["type"]); kind {
	case `"object"`:
		return t.InputSchema, nil
	case "":
		fields["type"] = json.RawMessage(`"object"`)
		return json.Marshal(fields)
	default:
		return nil, fmt.Errorf("its inputSchema is of type %s, not object", visible.Strip(kind))
	}
}

func resolveSchema(text json.RawMessage) (resolved *jsonschema.Resolved, err error) {
	if err := schemacost.Check(text); err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	return schema.Resolve(nil)
}

// canonical returns the JSON of a value with sorted keys and exact numbers, so that equal values have equal texts.
func canonical(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var plain any
	if dec.Decode(&plain) != nil {
		return raw
	}
	if raw, err = json.Marshal(plain); err != nil {
		return nil
	}
	return raw
}

func same(a, b any) bool { return bytes.Equal(canonical(a), canonical(b)) }

// Difference is something a server offers otherwise than it was approved.
type Difference struct {
	Kind string // tool, prompt, interceptor or instructions
	Name string
	New  bool   // it was not there when the server was approved
	Diff string // for people: the lines that went and came, - and +
}

// String describes the difference in a few lines.
func (d Difference) String() string {
	what := d.Kind
	if d.Name != "" {
		what += " " + visible.Strip(d.Name)
	}
	state := " changed"
	if d.New {
		state = " is new"
	}
	return what + state + ":\n" + d.Diff
}

// Compare returns what current offers otherwise than approved. What is no longer offered is no difference: there is nothing to approve.
func Compare(approved, current *Definition) []Difference {
	var out []Difference
	if approved.Instructions != current.Instructions && current.Instructions != "" {
		out = append(out, Difference{"instructions", "", approved.Instructions == "", diffText(approved.Instructions, current.Instructions)})
	}
	out = append(out, compareLists("tool", approved.Tools, current.Tools, func(t Tool) string { return t.Name })...)
	out = append(out, compareLists("prompt", approved.Prompts, current.Prompts, func(p Prompt) string { return p.Name })...)
	return append(out, compareLists("interceptor", approved.Interceptors, current.Interceptors, func(i Interceptor) string { return i.Name })...)
}

func compareLists[T any](kind string, approved, current []T, name func(T) string) []Difference {
	known := map[string]T{}
	for _, one := range approved {
		known[name(one)] = one
	}
	var out []Difference
	for _, one := range current {
		old, ok := known[name(one)]
		switch {
		case !ok:
			out = append(out, Difference{kind, name(one), true, diffText("", pretty(one))})
		case !same(old, one):
			out = append(out, Difference{kind, name(one), false, diffText(pretty(old), pretty(one))})
		}
	}
	return out
}

// pretty returns a value as people read it.
func pretty(v any) string {
	var out bytes.Buffer
	if json.Indent(&out, canonical(v), "", "  ") != nil {
		return ""
	}
	return out.String()
}

// diffText returns the lines that went and those that came, between what is equal at both ends.
func diffText(old, new string) string {
	a, b := splitLines(visible.Strip(old)), splitLines(visible.Strip(new))
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	for len(a) > start && len(b) > start && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var out strings.Builder
	for _, line := range a[start:] {
		out.WriteString("  - " + line + "\n")
	}
	for _, line := range b[start:] {
		out.WriteString("  + " + line + "\n")
	}
	return out.String()
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/linediff"
	"github.com/tenonhq/tenon/internal/toolschema"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/interceptor"
)

// Definition is the list of everything a server offers, which the user approves.
type Definition struct {
	Title        string             `json:"title,omitempty"` // the server's own name and version
	Protocol     string             `json:"protocol,omitempty"`
	Instructions string             `json:"instructions,omitempty"`
	Tools        []Tool             `json:"tools,omitempty"`
	Prompts      []Prompt           `json:"prompts,omitempty"`
	Resources    bool               `json:"resources,omitempty"`
	Interceptors []interceptor.Spec `json:"interceptors,omitempty"`
	More         bool               `json:"-"` // the server has more tools or prompts than tenon reads
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

// Execution describes how a tool is called.
type Execution struct {
	TaskSupport string `json:"taskSupport,omitempty"`
}

// asTask reports whether the tool can only be called as a task.
func (t *Tool) asTask() bool { return t.Execution.TaskSupport == "required" }

// Annotations are the server's claims about the effects of a tool. Permissions never depend on them.
type Annotations struct {
	Title    string `json:"title,omitempty"`
	ReadOnly bool   `json:"readOnlyHint,omitempty"`
	// The others are compared but not used.
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
	for _, t := range d.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// has reports whether there is a tool or an interceptor of that name.
func (d *Definition) has(kind, name string) bool {
	if kind == "interceptor" {
		return slices.ContainsFunc(d.Interceptors, func(i interceptor.Spec) bool { return i.Name == name })
	}
	_, ok := d.tool(name)
	return ok
}

// usable returns an error if a tool cannot be offered.
func (t *Tool) usable() error {
	parameters, err := t.parameters()
	if err != nil {
		return err
	}
	if _, err = toolschema.Resolve(parameters); err == nil {
		err = toolschema.CheckTypes(parameters)
	}
	if err != nil {
		return fmt.Errorf("its inputSchema is not valid: %w", err)
	}
	return nil
}

// parameters returns the tool's schema for the model, byte for byte, except that it adds the type object if
// the schema has no type.
func (t *Tool) parameters() (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(t.InputSchema, &fields); err != nil || fields == nil {
		return nil, errors.New("its inputSchema is not an object")
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

// canonical returns a text that is equal for equal values.
func canonical(v any) []byte {
	text, _ := jsontext.Canonical(v) // strings, numbers and JSON that was valid before
	return text
}

// Sum returns the SHA-256 of everything that the user approves, as "sha256:" and hexadecimal digits.
func (d *Definition) Sum() string {
	approved := *d
	approved.Title, approved.Protocol, approved.Resources = "", "", false
	return fmt.Sprintf("sha256:%x", sha256.Sum256(canonical(&approved)))
}

// Withheld is an item of a server that is not offered to the host: one that differs from the approved definition, or an unusable tool.
type Withheld struct {
	Kind   string // tool, prompt, interceptor or instructions
	Name   string
	Reason string
	Diff   string // from the approved item, human-readable; empty for an unusable tool
}

// String describes the item in a few lines.
func (w Withheld) String() string { return w.item() + ": " + w.Reason + "\n" + w.Diff }

func (w Withheld) item() string { return strings.TrimSpace(w.Kind + " " + visible.Strip(w.Name)) }

// differs returns an item that differs from the approved one.
func differs(kind, name, approved, current string, isNew bool) Withheld {
	reason := "changed since it was approved"
	if isNew {
		reason = "is not part of the approved definition"
	}
	lines := func(text string) string { return strings.TrimPrefix(visible.Strip(text)+"\n", "\n") }
	return Withheld{kind, name, reason, linediff.Compare("approved", "offered", lines(approved), lines(current)).Text}
}

// Compare returns the items of current that differ from approved. Items that are no longer offered are omitted: they need no approval.
func Compare(approved, current *Definition) []Withheld {
	if approved == current {
		return nil
	}
	var out []Withheld
	if approved.Instructions != current.Instructions && current.Instructions != "" {
		out = append(out, differs("instructions", "", approved.Instructions, current.Instructions, approved.Instructions == ""))
	}
	out = append(out, compareLists("tool", approved.Tools, current.Tools, func(t Tool) string { return t.Name })...)
	out = append(out, compareLists("prompt", approved.Prompts, current.Prompts, func(p Prompt) string { return p.Name })...)
	return append(out, compareLists("interceptor", approved.Interceptors, current.Interceptors, func(i interceptor.Spec) string { return i.Name })...)
}

func compareLists[T any](kind string, approved, current []T, name func(T) string) []Withheld {
	known := map[string]T{}
	for _, one := range approved {
		known[name(one)] = one
	}
	var out []Withheld
	for _, one := range current {
		old, ok := known[name(one)]
		switch {
		case !ok:
			out = append(out, differs(kind, name(one), "", pretty(one), true))
		case !bytes.Equal(canonical(old), canonical(one)):
			out = append(out, differs(kind, name(one), pretty(old), pretty(one), false))
		}
	}
	return out
}

// pretty returns a value as indented JSON.
func pretty(v any) string {
	var out bytes.Buffer
	_ = json.Indent(&out, canonical(v), "", "  ") // canonical returns JSON
	return out.String()
}

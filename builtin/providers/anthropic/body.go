package anthropic

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// defaultMaxTokens is sent if neither the request nor the model has an output limit: the field is required.
const defaultMaxTokens = 32_000

// block is a content block of a message, of the system prompt or of a tool result. Type determines which fields are set.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Source    *source         `json:"source,omitempty"`
	Title     string          `json:"title,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []block         `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Cache     *cacheControl   `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Eager       bool            `json:"eager_input_streaming,omitempty"`
}

// Body encodes a request.
func (c *client) Body(req *sdk.ModelRequest) ([]byte, error) {
	var b wire.Body
	if c.vertex {
		b.Set("anthropic_version", "vertex-2023-10-16")
	} else {
		b.Set("model", wire.APIName(&req.Model))
	}
	name := wire.APIName(&req.Model)
	claude := strings.Contains(strings.ToLower(name), "claude")
	options := wireOptions(req.Params.Options)
	thinks := setThinking(options, name) != nil
	b.Set("max_tokens", maxTokens(req, options))
	marks := wire.Marks(req)
	if system := systemBlocks(req.System, marks); len(system) > 0 {
		b.Set("system", system)
	}
	b.Set("messages", c.messages(req, claude, marks))
	if list := wire.Tools(&c.Info, req); len(list) > 0 {
		tools := make([]tool, len(list))
		for i := range list {
			t := &list[i]
			tools[i] = tool{t.ID, t.Description, wire.Parameters(t, claude), c.eager && claude}
		}
		b.Set("tools", tools)
		if choice := toolChoice(req, thinks); len(choice) > 0 {
			b.Set("tool_choice", choice)
		}
	}
	if !thinks && !refusesSampling(name) {
		b.Merge(wire.Sampling(&req.Params, "top_p", "top_k"))
	}
	b.Set("stream", true)
	b.Merge(options)
	return b.Encode(wire.SizeOf(req))
}

// toolChoice returns the rules for tool calls: whether a call is required, and whether parallel calls are off. It is empty for the
// server's default. A model that reasons cannot be forced to call tools.
func toolChoice(req *sdk.ModelRequest, thinks bool) sdk.Object {
	if req.ToolChoice == sdk.ToolChoiceNone {
		return sdk.Object{"type": "none"}
	}
	choice := sdk.Object{}
	if single := req.Params.Options["disableParallelToolUse"]; single != nil {
		choice = sdk.Object{"type": "auto", "disable_parallel_tool_use": single}
	}
	if req.ToolChoice == sdk.ToolChoiceRequired && !thinks && wire.ForcesTools(wire.APIName(&req.Model)) {
		choice["type"] = "any"
	}
	return choice
}

// wireOptions returns the options under their names in the format.
func wireOptions(options sdk.Object) sdk.Object {
	out := wire.Renamed(options, map[string]string{
		"effort": "output_config.effort", "cacheControl": "", "disableParallelToolUse": "", "sendReasoning": "", "toolStreaming": "", "structuredOutputMode": "",
	})
	if thinking, ok := wire.AsObject(out["thinking"]); ok {
		out["thinking"] = wire.Renamed(thinking, map[string]string{"budgetTokens": "budget_tokens"})
	}
	return out
}

// setThinking returns the options of reasoning, or nil if they do not turn it on. From Claude 5.1 on, it allows the server to drop signed
// blocks that no longer fit their prefix; otherwise the server returns an error. The field needs bindingBeta.
func setThinking(options sdk.Object, name string) sdk.Object {
	thinking := wire.Thinking(options)
	if thinking != nil && wire.ClaudeVersion(name) >= 501 && thinking["block_binding"] == nil {
		thinking = thinking.Clone()
		thinking["block_binding"] = sdk.Object{"prefix_mismatch_behavior": "drop_block"}
		options["thinking"] = thinking
	}
	return thinking
}

// refusesSampling reports whether the model refuses temperature, top_p and top_k: Claude from 4.7 on.
func refusesSampling(name string) bool { return wire.ClaudeVersion(name) >= 407 }

// maxTokens returns the output limit. The budget of reasoning is added, up to the output limit of the model.
func maxTokens(req *sdk.ModelRequest, options sdk.Object) int64 {
	limit, highest := max(req.Params.MaxOutputTokens, 0), cmp.Or(max(req.Model.Limit.Output, 0), math.MaxInt64)
	if limit == 0 {
		limit = min(defaultMaxTokens, highest)
	}
	thinking, _ := wire.AsObject(options["thinking"])
	if budget, ok := wire.NumberOf(thinking["budget_tokens"]); ok && budget > 0 && budget < 1e9 {
		limit = min(limit+int64(budget), highest)
	}
	return limit
}

// ephemeral returns the mark of a prefix that the server caches; nil without a mark.
func ephemeral(mark bool) *cacheControl {
	if !mark {
		return nil
	}
	return &cacheControl{"ephemeral"}
}

// systemBlocks returns the system prompt as at most two marked blocks: opencode marks the first two, and the server accepts four marks.
func systemBlocks(system []string, mark bool) []block {
	system = slices.DeleteFunc(slices.Clone(system), func(s string) bool { return strings.TrimSpace(s) == "" })
	if len(system) > 2 {
		system = []string{system[0], strings.Join(system[1:], "\n\n")}
	}
	out := make([]block, len(system))
	for i, text := range system {
		out[i] = block{Type: "text", Text: text, Cache: ephemeral(mark)}
	}
	return out
}

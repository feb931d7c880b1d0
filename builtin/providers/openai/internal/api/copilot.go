package api

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// copilotModel has the fields that only GitHub Copilot adds to an entry of GET /models. They depend on the plan and the policies of the account.
type copilotModel struct {
	Capabilities capabilities `json:"capabilities"`
	Endpoints    []string     `json:"supported_endpoints"`
	Picker       *bool        `json:"model_picker_enabled"` // false: not for users
	Policy       struct {
		State string `json:"state"` // disabled: the user's organization does not allow it
	} `json:"policy"`
}

// capabilities describes a model of GitHub Copilot. An absent field means that it is unknown.
type capabilities struct {
	Type   string `json:"type"` // chat, embeddings or completion
	Limits struct {
		Context float64 `json:"max_context_window_tokens"`
		Prompt  float64 `json:"max_prompt_tokens"`
		Output  float64 `json:"max_output_tokens"`
		Vision  struct {
			Types []string `json:"supported_media_types"`
		} `json:"vision"`
	} `json:"limits"`
	Supports struct {
		Vision    *bool    `json:"vision"`
		Tools     *bool    `json:"tool_calls"`
		Efforts   []string `json:"reasoning_effort"`
		Adaptive  bool     `json:"adaptive_thinking"`
		MinBudget float64  `json:"min_thinking_budget"` // tokens
		MaxBudget float64  `json:"max_thinking_budget"` // tokens
	} `json:"supports"`
}

// offered reports whether the user can choose the model.
func (m *copilotModel) offered() bool {
	kind := m.Capabilities.Type
	return (kind == "" || kind == "chat") && (m.Picker == nil || *m.Picker) && m.Policy.State != "disabled"
}

// describe sets the properties that the server reports. Of several wire formats it chooses opencode's preferred one.
func (m *copilotModel) describe(out *sdk.Model) {
	for _, format := range [][2]string{{"/v1/messages", "anthropic-messages"}, {"/responses", "openai-responses"}, {"/chat/completions", "openai-chat"}} {
		if slices.Contains(m.Endpoints, format[0]) {
			out.Protocol = format[1]
			break
		}
	}
	limits, supports := &m.Capabilities.Limits, &m.Capabilities.Supports
	out.Limit = sdk.ModelLimit{
		Context: cmp.Or(wire.Count(limits.Context), out.Limit.Context), Input: wire.Count(limits.Prompt),
		Output: cmp.Or(wire.Count(limits.Output), out.Limit.Output),
	}
	out.ToolCall = supports.Tools == nil || *supports.Tools
	takes := func(kind string) bool {
		return slices.ContainsFunc(limits.Vision.Types, func(mime string) bool { return strings.HasPrefix(mime, kind) })
	}
	if supports.Vision != nil || len(limits.Vision.Types) > 0 {
		out.Modalities.Input = []string{"text"}
		if supports.Vision != nil && *supports.Vision || takes("image/") {
			out.Modalities.Input = append(out.Modalities.Input, "image")
		}
		if takes("application/pdf") {
			out.Modalities.Input = append(out.Modalities.Input, "pdf")
		}
		out.Attachment = len(out.Modalities.Input) > 1
	}
	switch {
	case len(supports.Efforts) > 0:
		efforts := sdk.ReasoningOption{Type: "effort"}
		for i := range supports.Efforts {
			efforts.Values = append(efforts.Values, &supports.Efforts[i])
		}
		out.ReasoningOptions = []sdk.ReasoningOption{efforts}
	case supports.MaxBudget > 0:
		out.ReasoningOptions = []sdk.ReasoningOption{{Type: "budget_tokens", Min: wire.Count(supports.MinBudget), Max: wire.Count(supports.MaxBudget)}}
	}
	out.Reasoning = supports.Adaptive || len(out.ReasoningOptions) > 0
}

package catalog

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/npm"
	"github.com/tenonhq/tenon/sdk"
)

// Types of sdk.ReasoningOption.
const (
	optionEffort = "effort"
	optionBudget = "budget_tokens"
)

// maxBudget is the largest budget of reasoning that variants use, in tokens; opencode's figure.
const maxBudget = 31_999

// CompleteModel sets the variants, options and sampling parameters of the model's family, as opencode's provider/transform.ts does.
func (*Plugin) CompleteModel(provider *sdk.ProviderInfo, m *sdk.Model) {
	setAddress(provider, m)
	r := &rule{provider: provider.ID, npm: provider.NPM, name: m.FamilyText(), model: m}
	if r.npm == copilot {
		r.setCopilot(provider)
	}
	if r.npm == "@ai-sdk/openai-compatible" && m.ReasoningField == "" && strings.Contains(r.name, "deepseek") {
		m.ReasoningField = "reasoning_content"
	}
	m.Options = under(m.Options, r.options())
	if m.Reasoning && m.Variants == nil {
		m.Variants = r.variants()
	}
	m.Sampling = r.sampling()
}

const copilot = "@ai-sdk/github-copilot"

// rule completes one model.
type rule struct {
	provider, npm string
	name          string // sdk.Model.FamilyText
	model         *sdk.Model
}

// has reports whether the name of the model contains one of the words.
func (r *rule) has(words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(r.name, word) })
}

// under returns the options with the defaults that they lack.
func under(options, defaults sdk.Object) sdk.Object {
	if len(defaults) == 0 {
		return options
	}
	out := maps.Clone(defaults)
	maps.Copy(out, options)
	return out
}

// setCopilot sets the wire format, for a server without a list of models: Copilot serves each family in its own. Each format follows the rules
// of its usual package.
func (r *rule) setCopilot(provider *sdk.ProviderInfo) {
	m := r.model
	switch {
	case m.Protocol != "" || npm.Protocol(r.npm) != provider.Protocol:
	case r.has("claude"):
		m.Protocol = messages
	case r.gptVersion() >= 500 && !r.has("gpt-5-mini"):
		m.Protocol = responses
	}
	if m.Protocol == messages {
		r.npm = "@ai-sdk/anthropic"
	}
}

// Wire formats of Copilot's models in addition to its usual one.
const (
	messages  = "anthropic-messages"
	responses = "openai-responses"
)

var gemini = lazyregexp.New(`gemini-(\d)(?:\.(\d))?`)

func (r *rule) gptVersion() int    { return wire.GPTVersion(r.name) }
func (r *rule) claudeVersion() int { return wire.ClaudeVersion(r.name) }
func (r *rule) geminiVersion() int { return wire.Version(r.name, gemini()) }

// openAI reports whether the package is for servers with OpenAI's own models.
func (r *rule) openAI() bool {
	return slices.Contains([]string{"@ai-sdk/openai", "@ai-sdk/azure", "@ai-sdk/amazon-bedrock/mantle"}, r.npm)
}

func (r *rule) anthropic() bool {
	return r.npm == "@ai-sdk/anthropic" || r.npm == "@ai-sdk/google-vertex/anthropic"
}

func (r *rule) google() bool {
	return r.npm == "@ai-sdk/google" || r.npm == "@ai-sdk/google-vertex"
}

// options returns the default options of the family.
func (r *rule) options() sdk.Object {
	out := sdk.Object{}
	if v := r.gptVersion(); v >= 500 && v < 600 && !r.has("gpt-5-chat") && (r.openAI() || r.npm == copilot) {
		if !r.has("-pro") {
			out["reasoningEffort"] = "medium"
		}
		if r.openAI() {
			out["reasoningSummary"] = "auto"
		}
		if v > 500 && !r.has("codex", "-chat") && r.npm != "@ai-sdk/azure" {
			out["textVerbosity"] = "low"
		}
	}
	switch {
	case r.npm == "@ai-sdk/gateway": // see https://vercel.com/docs/ai-gateway/models-and-providers/automatic-caching
		out["providerOptions"] = sdk.Object{"gateway": sdk.Object{"caching": "auto"}}
	case r.google() && r.model.Reasoning:
		config := sdk.Object{"includeThoughts": true}
		if r.geminiVersion() >= 300 {
			config["thinkingLevel"] = "high"
		}
		out["thinkingConfig"] = config
	case r.npm == openRouter:
		out["usage"] = sdk.Object{"include": true}
		if r.geminiVersion() >= 300 {
			out["reasoning"] = sdk.Object{"effort": "high"}
		}
	case r.anthropic() && r.has("kimi") && r.model.Reasoning:
		out["thinking"], out["effort"] = sdk.Object{"type": "adaptive"}, "high"
	case r.provider == "alibaba-cn" && r.model.Reasoning && !r.has("kimi-k2-thinking"):
		out["enable_thinking"] = true
	case slices.Contains([]string{"zai", "zai-coding-plan", "zhipuai", "zhipuai-coding-plan"}, r.provider) && r.model.Reasoning:
		out["thinking"] = sdk.Object{"type": "enabled", "clear_thinking": false}
	}
	return out
}

const openRouter = "@openrouter/ai-sdk-provider"

// variants returns the model's reasoning variants, from the catalog's options or else from its family.
func (r *rule) variants() map[string]sdk.Object {
	out := map[string]sdk.Object{}
	for _, o := range r.model.ReasoningOptions {
		switch o.Type {
		case optionEffort:
			for _, value := range o.Values {
				effort := "none"
				if value != nil {
					effort = *value
				}
				out[effort] = r.effort(effort)
			}
		case optionBudget:
			if len(out) == 0 {
				out = r.budgets(o.Min, o.Max)
			}
		}
	}
	if len(r.model.ReasoningOptions) > 0 {
		return out
	}
	for effort := range strings.FieldsSeq(r.efforts()) {
		out[effort] = r.effort(effort)
	}
	if len(out) == 0 && (r.anthropic() || r.npm == bedrock && r.has("claude") || r.google() && r.geminiVersion() < 300) {
		out = r.budgets(0, 0)
	}
	return out
}

const bedrock = "@ai-sdk/amazon-bedrock"

// budgets returns the variants high and max of a model whose reasoning has a budget; 0 means no bound.
func (r *rule) budgets(lowest, highest int64) map[string]sdk.Object {
	if r.google() {
		top := int64(24_576)
		if r.has("pro") {
			top = 32_768
		}
		return map[string]sdk.Object{"high": r.budget(16_000), "max": r.budget(top)}
	}
	if !r.anthropic() && r.npm != bedrock {
		return nil
	}
	output := cmp.Or(max(r.model.Limit.Output, 0), math.MaxInt64)
	top := min(maxBudget, output-1, cmp.Or(max(highest, 0), math.MaxInt64))
	return map[string]sdk.Object{"high": r.budget(max(lowest, min(16_000, output/2-1, top))), "max": r.budget(top)}
}

// budget returns the options for a budget of tokens.
func (r *rule) budget(tokens int64) sdk.Object {
	switch {
	case r.google():
		return sdk.Object{"thinkingConfig": sdk.Object{"includeThoughts": true, "thinkingBudget": tokens}}
	case r.npm == bedrock:
		return sdk.Object{"reasoningConfig": sdk.Object{"type": "enabled", "budgetTokens": tokens}}
	}
	return sdk.Object{"thinking": sdk.Object{"type": "enabled", "budgetTokens": tokens}}
}

// effort returns the options for an effort.
func (r *rule) effort(effort string) sdk.Object {
	switch {
	case r.openAI() || r.npm == copilot && r.model.Protocol == responses:
		return sdk.Object{"reasoningEffort": effort, "reasoningSummary": "auto"}
	case r.anthropic():
		thinking := sdk.Object{"type": "adaptive"}
		if r.claudeVersion() >= 407 {
			thinking["display"] = "summarized"
		}
		if r.claudeVersion() == 405 {
			thinking = sdk.Object{"type": "enabled", "budgetTokens": int64(16_000)}
		}
		return sdk.Object{"thinking": thinking, "effort": effort}
	case r.npm == bedrock && r.has("claude"):
		return sdk.Object{"reasoningConfig": sdk.Object{"type": "adaptive", "maxReasoningEffort": effort}}
	case r.npm == bedrock:
		return sdk.Object{"reasoningConfig": sdk.Object{"type": "enabled", "maxReasoningEffort": effort}}
	case r.google():
		return sdk.Object{"thinkingConfig": sdk.Object{"includeThoughts": true, "thinkingLevel": effort}}
	case r.npm == openRouter:
		return sdk.Object{"reasoning": sdk.Object{"effort": effort}}
	}
	return sdk.Object{"reasoningEffort": effort}
}

// efforts returns the efforts of the family, for models without options in the catalog.
func (r *rule) efforts() string {
	switch {
	case r.has("glm-5.2", "glm-5p2"):
		return "high max"
	case r.has("deepseek-chat", "deepseek-reasoner", "deepseek-r1", "deepseek-v3", "minimax", "glm", "kimi", "qwen", "big-pickle"):
		return ""
	case r.anthropic() || r.npm == bedrock && r.has("claude"):
		switch v := r.claudeVersion(); {
		case v >= 407:
			return "low medium high xhigh max"
		case v == 406:
			return "low medium high max"
		case v == 405 && r.has("opus"):
			return "low medium high"
		}
		return ""
	case r.google():
		switch {
		case r.geminiVersion() < 300:
			return ""
		case r.has("flash"):
			return "minimal low medium high"
		}
		return "low high"
	case r.openAI() || r.npm == copilot:
		return r.gptEfforts()
	case r.npm == "@ai-sdk/groq":
		return "none low medium high"
	case r.npm == "@ai-sdk/mistral" && r.has("mistral-small-2603", "mistral-medium-3.5", "mistral-medium-2604"):
		return "high"
	case r.npm == "@ai-sdk/mistral":
		return ""
	case r.has("deepseek-v4"):
		return "low medium high max"
	}
	return "low medium high"
}

func (r *rule) gptEfforts() string {
	v := r.gptVersion()
	switch {
	case r.has("-chat"):
		return "medium"
	case r.has("-pro") && v > 500:
		return "medium high xhigh"
	case r.has("-pro"):
		return "high"
	case r.has("codex") && v >= 503, !r.has("codex") && v >= 502:
		return "none low medium high xhigh"
	case r.has("codex"):
		return "low medium high"
	case v == 501:
		return "none low medium high"
	case v == 500:
		return "minimal low medium high"
	}
	return "low medium high"
}

// sampling returns the parameters with which the families were published, as opencode sends them. Other models get the server's.
func (r *rule) sampling() (s sdk.Sampling) {
	if r.model.Temperature || r.model.Sampling.Temperature != nil {
		switch {
		case r.has("north-mini-code", "glm-4.6", "glm-4.7", "minimax-m2", "gemini-2.5", "gemini-3", "kimi-k2-thinking", "kimi-k2.", "kimi-k2p"):
			s.Temperature = new(1.0)
		case r.has("kimi-k2"):
			s.Temperature = new(0.6)
		}
	}
	if r.has("gemini", "minimax-m2", "kimi-k2.5", "kimi-k2p5", "deepseek-v4-flash") {
		s.TopP = new(0.95)
	}
	switch {
	case r.has("gemini"):
		s.TopK = new(64)
	case r.has("minimax-m2.1", "minimax-m2.5"):
		s.TopK = new(40)
	case r.has("minimax-m2"):
		s.TopK = new(20)
	}
	return s
}

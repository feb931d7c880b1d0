package agents

import (
	"path"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// SystemPrompt returns the system prompt of agents without one: the same text for all models, and the addition of the model's family.
func (*Plugin) SystemPrompt(m *sdk.Model) string {
	return strings.TrimSpace(prompt(sdk.AgentBuild) + "\n\n" + prompt("family/"+familyOf(m)))
}

// familyOf returns the name of the model's family, or "". The order of the comparisons is opencode's, see its session/system.ts.
func familyOf(m *sdk.Model) string {
	name := m.FamilyText()
	has := func(word string) bool { return strings.Contains(name, word) }
	base := path.Base(name)
	switch {
	case has("muse"):
		return "muse"
	case has("gpt-4"), strings.HasPrefix(base, "o1"), strings.HasPrefix(base, "o3"):
		return "gpt-4"
	case has("gpt-6"):
		return "gpt-6"
	case has("gpt") && has("codex"):
		return "codex"
	case has("gpt"):
		return "gpt"
	case has("gemini-"):
		return "gemini"
	case has("claude"):
		return "claude"
	case has("trinity"):
		return "trinity"
	case has("kimi"), strings.HasPrefix(m.ProviderID, "moonshot"):
		return "kimi"
	}
	return ""
}

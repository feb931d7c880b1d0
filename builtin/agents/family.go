package agents

import (
	"embed"
	"path"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// familyPrompts are additions to the default system prompt, a file for each family of models.
//
//go:embed prompts/family/*.md
var familyPrompts embed.FS

// SystemPrompt returns the system prompt of agents without one: the same text for all models, and the addition of the model's family.
func (*Plugin) SystemPrompt(m *sdk.Model) string {
	prompt := strings.TrimSpace(buildPrompt)
	addition, err := familyPrompts.ReadFile("prompts/family/" + familyOf(m) + ".md")
	if err != nil {
		return prompt // no addition for this family
	}
	return prompt + "\n\n" + strings.TrimSpace(string(addition))
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

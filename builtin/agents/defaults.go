package agents

import (
	"embed"
	"encoding/json"
	"path"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// prompts are the built-in agents, their prompts, reminders, and additions for families of models.
//
//go:embed prompts
var prompts embed.FS

// prompt returns a text of prompts; empty without one.
func prompt(name string) string {
	data, _ := prompts.ReadFile("prompts/" + name + ".md")
	return strings.TrimSpace(string(data))
}

// builtins returns the built-in agents, the default one first. They are a list of sdk.Agent, in which prompt is the name of a file.
//
// The rules of plan and explore repeat those that protect secrets, because they come after the default ones. For plan, commands and tools of plugins
// and MCP servers, which can also change files, require approval; other rules cannot allow them, because the agent is strict. For explore, commands
// and web pages require approval, as everywhere. Both let command hooks ask the model, because such hooks guard these agents. The hidden agents write text for the host and have no tools.
func builtins() []sdk.Agent {
	var list []sdk.Agent
	data, err := prompts.ReadFile("prompts/agents.json")
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		panic(err) // the list is part of the program; a test reads it
	}
	for i := range list {
		a := &list[i]
		a.Prompt, a.Origin = prompt(a.Prompt), "built in"
		for n := range a.Permission {
			a.Permission[n].Origin = "agent " + a.Name + " (built in)"
		}
	}
	return list
}

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

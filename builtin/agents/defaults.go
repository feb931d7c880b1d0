package agents

import (
	"embed"
	"path"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// prompts are the prompts of agents, reminders, and additions for families of models.
//
//go:embed prompts
var prompts embed.FS

// prompt returns a text of prompts; empty without one.
func prompt(name string) string {
	data, _ := prompts.ReadFile("prompts/" + name + ".md")
	return strings.TrimSpace(string(data))
}

// Names of the agents that the host does not use by itself.
const (
	agentPlan    = "plan"
	agentGeneral = "general"
	agentExplore = "explore"
	agentSummary = "summary"
)

const origin = "built in"

// builtins returns the built-in agents.
func builtins() []sdk.Agent {
	half := 0.5
	return []sdk.Agent{
		{
			Name: sdk.AgentBuild, Description: "The default: works on the project with all tools.", Mode: sdk.ModePrimary, Origin: origin,
		}, {
			Name: agentPlan, Description: "Reads and plans; changes nothing.", Mode: sdk.ModePrimary, Origin: origin,
			Permission: rules(agentPlan, planning), Strict: true,
		}, {
			Name: agentGeneral, Description: "Research and work of several steps, also several in parallel.", Mode: sdk.ModeSubagent, Origin: origin,
			Permission: rules(agentGeneral, "deny todowrite *"),
		}, {
			Name: agentExplore, Description: "Finds files, code and answers in the code base; reads only.", Mode: sdk.ModeSubagent,
			Prompt: prompt(agentExplore), Origin: origin, Permission: rules(agentExplore, exploring),
		},
		hidden(sdk.AgentTitle, &half),
		hidden(sdk.AgentCompaction, nil),
		hidden(agentSummary, nil),
	}
}

// hidden returns an agent that writes text for the host and has no tools.
func hidden(name string, temperature *float64) sdk.Agent {
	return sdk.Agent{
		Name: name, Mode: sdk.ModePrimary, Hidden: true, Prompt: prompt(name), Temperature: temperature,
		Permission: rules(name, "deny * *"), Origin: origin,
	}
}

// Rules, see rules.
const (
	// reading allows reading. It repeats the rules that protect secrets, because it comes after the default ones.
	reading = "; allow read *; ask read *.env; ask read *.env.*; allow read *.env.example; allow glob *; allow grep *; allow list *; allow skill *"
	// planning allows reading and denies edits. Commands and tools of plugins and MCP servers, which can also change files, require
	// approval. Other rules cannot allow them, because the agent is strict.
	planning = "ask * *" + reading + "; allow task *; allow todowrite *; allow question *; allow tool_search *; deny edit *" +
		"; allow edit .tenon/plans/*.md; allow edit .opencode/plans/*.md; deny task " + agentGeneral
	// exploring allows only reading. Commands and web pages require approval, as everywhere.
	exploring = "deny * *" + reading + "; ask bash *; ask webfetch *; ask " + sdk.PermissionExternalDirectory + " *; ask " + sdk.PermissionDoomLoop + " *"
)

// rules reads the rules of a built-in agent, each with its action, permission and pattern.
func rules(agent, list string) (out sdk.PermissionRules) {
	for rule := range strings.SplitSeq(list, "; ") {
		f := strings.Fields(rule)
		out = append(out, sdk.PermissionRule{Action: sdk.Action(f[0]), Permission: f[1], Pattern: f[2], Origin: "agent " + agent + " (" + origin + ")"})
	}
	return out
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

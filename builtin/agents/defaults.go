package agents

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// The prompts.
var (
	//go:embed prompts/build.md
	buildPrompt string
	//go:embed prompts/explore.md
	explorePrompt string
	//go:embed prompts/title.md
	titlePrompt string
	//go:embed prompts/compaction.md
	compactionPrompt string
	//go:embed prompts/summary.md
	summaryPrompt string
	//go:embed prompts/plan.md
	planReminder string
	//go:embed prompts/build-switch.md
	buildReminder string
)

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
			Permission: planRules(), Strict: true,
		}, {
			Name: agentGeneral, Description: "Research and work of several steps, also several in parallel.", Mode: sdk.ModeSubagent, Origin: origin,
			Permission: rules(agentGeneral, deny("todowrite")),
		}, {
			Name: agentExplore, Description: "Finds files, code and answers in the code base; reads only.", Mode: sdk.ModeSubagent,
			Prompt: strings.TrimSpace(explorePrompt), Origin: origin, Permission: exploreRules(),
		},
		hidden(sdk.AgentTitle, titlePrompt, &half),
		hidden(sdk.AgentCompaction, compactionPrompt, nil),
		hidden(agentSummary, summaryPrompt, nil),
	}
}

// hidden returns an agent that writes text for the host and has no tools.
func hidden(name, prompt string, temperature *float64) sdk.Agent {
	return sdk.Agent{
		Name: name, Mode: sdk.ModePrimary, Hidden: true, Prompt: strings.TrimSpace(prompt), Temperature: temperature,
		Permission: rules(name, deny("*")), Origin: origin,
	}
}

// planRules allow reading and deny edits. Commands and tools of plugins and MCP servers, which can also change files, require
// approval. Other rules cannot allow them, because the agent is strict.
func planRules() sdk.PermissionRules {
	return rules(agentPlan, slices.Concat(sdk.PermissionRules{ask("*", "*")}, reading(), sdk.PermissionRules{
		allow("task", "*"), allow("todowrite", "*"), allow("question", "*"), allow("tool_search", "*"),
		deny("edit"), allow("edit", ".tenon/plans/*.md"), allow("edit", ".opencode/plans/*.md"),
		{Permission: "task", Pattern: agentGeneral, Action: sdk.ActionDeny},
	})...)
}

// exploreRules allow only reading. Commands and web pages require approval, as everywhere.
func exploreRules() sdk.PermissionRules {
	return rules(agentExplore, slices.Concat(sdk.PermissionRules{deny("*")}, reading(), sdk.PermissionRules{
		ask("bash", "*"), ask("webfetch", "*"), ask(sdk.PermissionExternalDirectory, "*"), ask(sdk.PermissionDoomLoop, "*"),
	})...)
}

// reading allows reading. It repeats the rules that protect secrets, because it comes after the default ones.
func reading() sdk.PermissionRules {
	return sdk.PermissionRules{
		allow("read", "*"), ask("read", "*.env"), ask("read", "*.env.*"), allow("read", "*.env.example"),
		allow("glob", "*"), allow("grep", "*"), allow("list", "*"), allow("skill", "*"),
	}
}

func ask(permission, pattern string) sdk.PermissionRule {
	return sdk.PermissionRule{Permission: permission, Pattern: pattern, Action: sdk.ActionAsk}
}

func deny(permission string) sdk.PermissionRule {
	return sdk.PermissionRule{Permission: permission, Pattern: "*", Action: sdk.ActionDeny}
}

func allow(permission, pattern string) sdk.PermissionRule {
	return sdk.PermissionRule{Permission: permission, Pattern: pattern, Action: sdk.ActionAllow}
}

// rules sets the origin of each rule of an agent.
func rules(agent string, list ...sdk.PermissionRule) sdk.PermissionRules {
	for i := range list {
		list[i].Origin = "agent " + agent + " (" + origin + ")"
	}
	return list
}

package permission

import "github.com/tenonhq/tenon/sdk"

// defaultOrigin is the origin of rules of Defaults.
const defaultOrigin = "default"

// Sampling is the permission a plugin needs to ask the user's model; the pattern is the plugin's name.
const Sampling = "sampling"

// Defaults returns the rules before all others. Tools that only read inside the project are allowed. Reading files that usually hold
// secrets asks, and so does everything that changes, runs or fetches something; so do all tools of third-party plugins and MCP servers.
func Defaults() sdk.PermissionRules {
	var rules sdk.PermissionRules
	add := func(action sdk.Action, pattern string, permissions ...string) {
		for _, p := range permissions {
			rules = append(rules, sdk.PermissionRule{Permission: p, Pattern: pattern, Action: action, Origin: defaultOrigin})
		}
	}
	add(sdk.ActionAsk, "*", "*")
	add(sdk.ActionAllow, "*", "read")
	add(sdk.ActionAsk, "*.env", "read")
	add(sdk.ActionAsk, "*.env.*", "read")
	add(sdk.ActionAllow, "*.env.example", "read")
	// A subagent is bounded by its own rules and its parent's, so starting one requires no permission.
	add(sdk.ActionAllow, "*", "glob", "grep", "list", "skill", "todowrite", "task", "question", "tool_search")
	add(sdk.ActionAsk, "*", "edit", "bash", "webfetch", Sampling, sdk.PermissionExternalDirectory, sdk.PermissionDoomLoop, sdk.PermissionUnconfined)
	return rules
}

package permission

import "github.com/tenonhq/tenon/sdk"

// defaultOrigin is the origin of rules of Defaults.
const defaultOrigin = "default"

// Sampling is the permission a plugin needs to ask the user's model; the pattern is the plugin's name.
const Sampling = "sampling"

// Defaults returns the rules before all others. Tools that only read inside the project are allowed. Files that usually hold secrets, and
// everything that changes, runs or fetches something, ask; so do all tools of third-party plugins and MCP servers.
func Defaults() sdk.PermissionRules {
	all := func(action sdk.Action, permissions ...string) sdk.PermissionRules {
		var rules sdk.PermissionRules
		for _, p := range permissions {
			rules = append(rules, sdk.PermissionRule{Permission: p, Pattern: "*", Action: action, Origin: defaultOrigin})
		}
		return rules
	}
	rules := all(sdk.ActionAsk, "*")
	rules = append(rules, all(sdk.ActionAllow, "read")...)
	for _, env := range []struct {
		pattern string
		action  sdk.Action
	}{{"*.env", sdk.ActionAsk}, {"*.env.*", sdk.ActionAsk}, {"*.env.example", sdk.ActionAllow}} {
		rules = append(rules, sdk.PermissionRule{Permission: "read", Pattern: env.pattern, Action: env.action, Origin: defaultOrigin})
	}
	// A subagent is bounded by its own rules and its parent's, so starting one requires no permission.
	rules = append(rules, all(sdk.ActionAllow, "glob", "grep", "list", "skill", "todowrite", "task", "question", "tool_search")...)
	return append(rules, all(sdk.ActionAsk, "edit", "bash", "webfetch", Sampling, sdk.PermissionExternalDirectory, sdk.PermissionDoomLoop, sdk.PermissionUnconfined)...)
}

package tasks

import "github.com/tenonhq/tenon/sdk"

// TaskTool is the tool through which subagents run.
const TaskTool = "task"

// ChildPermission returns the rules of a subagent's session: they keep a subagent from delegating further and from the parent's task list, unless its own
// rules speak of those.
func ChildPermission(a *sdk.Agent) sdk.PermissionRules {
	var out sdk.PermissionRules
	for _, key := range []string{"todowrite", TaskTool} {
		mentioned := false
		for _, r := range a.Permission {
			mentioned = mentioned || r.Permission == key
		}
		if !mentioned {
			out = append(out, sdk.PermissionRule{Permission: key, Pattern: "*", Action: sdk.ActionDeny, Origin: "default of subagents"})
		}
	}
	return out
}

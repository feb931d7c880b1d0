package tasks

import (
	"encoding/json"
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// TaskTool is the tool through which subagents run.
const TaskTool = "task"

// ChildPermission returns the rules of a subagent's session: they deny further delegation and the parent's task list, unless a rule for the
// subagent allows them or asks.
func ChildPermission(rules sdk.PermissionRules) sdk.PermissionRules {
	var out sdk.PermissionRules
	for _, key := range []string{"todowrite", TaskTool} {
		if !slices.ContainsFunc(rules, func(r sdk.PermissionRule) bool { return r.Permission == key && r.Action != sdk.ActionDeny }) {
			out = append(out, sdk.PermissionRule{Permission: key, Pattern: "*", Action: sdk.ActionDeny, Origin: "default of subagents"})
		}
	}
	return out
}

// Calls returns the arguments of the task tool for each subtask of a prompt.
func Calls(parts sdk.Parts) []json.RawMessage {
	var out []json.RawMessage
	for _, p := range parts {
		s, ok := p.(*sdk.SubtaskPart)
		if !ok {
			continue
		}
		args, _ := json.Marshal(map[string]string{ // strings always encode
			"description": s.Description, "prompt": s.Prompt, "subagent_type": s.Agent, "command": s.Command,
		})
		out = append(out, args)
	}
	return out
}

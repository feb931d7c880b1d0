package commandhooks

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/sdk"
)

// dialectTool is one of tenon's tools in the dialect.
type dialectTool struct {
	names []string // commands receive the first; matchers accept all
	args  map[string]string
}

// dialectTools returns the tools by their id in tenon. args maps tenon's names of arguments to the dialect's, where they differ.
func dialectTools() map[string]dialectTool {
	path := map[string]string{"filePath": "file_path"}
	return map[string]dialectTool{
		"bash":      {names: []string{"Bash"}},
		"read":      {[]string{"Read"}, path},
		"write":     {[]string{"Write"}, path},
		"edit":      {[]string{"Edit", "MultiEdit"}, map[string]string{"filePath": "file_path", "oldString": "old_string", "newString": "new_string", "replaceAll": "replace_all"}},
		"list":      {names: []string{"LS"}},
		"glob":      {names: []string{"Glob"}},
		"grep":      {[]string{"Grep"}, map[string]string{"include": "glob"}},
		"webfetch":  {names: []string{"WebFetch"}},
		"task":      {names: []string{"Agent", "Task"}},
		"todowrite": {names: []string{"TodoWrite"}},
		"skill":     {[]string{"Skill"}, map[string]string{"name": "skill"}},
		"question":  {names: []string{"AskUserQuestion"}},
		// A command that guards edits must also see patches.
		"apply_patch": {[]string{"apply_patch", "ApplyPatch", "Edit", "MultiEdit", "Write"}, path},
	}
}

// toolNames returns the names of a tool, the dialect's first.
func toolNames(tool string, origin sdk.Origin) []string {
	if origin.Server != "" {
		server := notInID().ReplaceAllString(origin.Server, "_")
		return []string{"mcp__" + server + "__" + strings.TrimPrefix(tool, server+"_"), tool}
	}
	if d, ok := dialectTools()[tool]; ok && isOurs(origin) {
		return append(slices.Clone(d.names), tool)
	}
	return []string{tool}
}

// isOurs reports whether the tool is built in. Another tool of the same name may have different arguments.
func isOurs(origin sdk.Origin) bool { return origin.Carrier == sdk.CarrierBuiltin }

// notInID matches a character that the ids of a server's tools do not contain.
var notInID = lazyregexp.New(`[^A-Za-z0-9_-]`)

// translate renames arguments: to the dialect's names for a command or, with ours, to tenon's names for a command's answer, which may
// already use them. If both names are present, the argument under the name to be replaced counts: the tool reads only that one, so a guard
// must see it.
func translate(tool string, origin sdk.Origin, args sdk.Object, ours bool) sdk.Object {
	out := maps.Clone(args)
	for from, to := range dialectTools()[tool].args {
		if ours {
			from, to = to, from
		}
		if value, ok := args[from]; ok && isOurs(origin) {
			delete(out, from)
			out[to] = value
		}
	}
	return out
}

package commandhooks

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/builtin/tools/files"
	"github.com/tenonhq/tenon/sdk"
)

// refusalTime is the time before a hook's deadline at which a patch that takes too long is refused.
const refusalTime = time.Second

// callTool runs a command for a tool call that it selects, once for each file of a patch. It returns the answers, and the arguments with the
// changes of answers at PreToolUse. Before the call, the first refusal is the only answer. A refusal must not depend on the runs for other
// files: errors are returned after all runs, and a patch that takes too long is refused.
func (e *entry) callTool(ctx context.Context, in *sdk.ToolInput, args sdk.Object, more map[string]any) ([]*reply, sdk.Object, error) {
	paths := patchPaths(e.event, in, args)
	several, decides := len(paths) > 1, e.event == preToolUse || e.event == permissionRequest
	if deadline, ok := ctx.Deadline(); ok && several {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-min(time.Until(deadline)/2, refusalTime)))
		defer cancel()
	}
	var replies []*reply
	var failed error
	for _, path := range paths {
		r, err := e.callFile(ctx, in, &args, path, more)
		if err != nil && several && decides && (errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)) {
			r, err = &reply{verdict: block, reason: "no time left for the command hook " + e.where + "; change fewer files at a time"}, nil
		}
		if err != nil {
			if failed = errors.Join(failed, err); ctx.Err() != nil {
				break
			}
			continue
		}
		refused := r.verdict >= block
		if refused && several {
			r.reason = path + ": " + r.because(e)
		}
		if refused && decides {
			replies = []*reply{r}
			break
		}
		replies = append(replies, r)
	}
	// An error of the hook would discard the answers of the other runs. Before the call, a text does not outweigh a guard that failed.
	says := func(r *reply) bool { return r.verdict >= ask || !decides && (r.context != "" || r.newOutput != nil) }
	if failed != nil && slices.ContainsFunc(replies, says) {
		e.plugin.log.Warn("command hook failed", "err", failed)
		failed = nil
	}
	return replies, args, failed
}

// callFile runs the command once. path names a file of a patch or is empty.
func (e *entry) callFile(ctx context.Context, in *sdk.ToolInput, args *sdk.Object, path string, more map[string]any) (*reply, error) {
	given := *args
	if path != "" {
		given = maps.Clone(given)
		delete(given, "file_path") // the model's
		given["filePath"] = path
	}
	names, translated := toolNames(in.Tool, in.Origin), e.plugin.toolInput(in.Tool, in.Origin, given)
	if in.Origin.Server != "" { // Claude Code's name for the plugin's own server; here it also matches another server of that name
		plugin := notInID().ReplaceAllString(strings.TrimSuffix(e.plugin.source.Name, ".hooks"), "_")
		names = append(names, "mcp__plugin_"+plugin+"_"+strings.TrimPrefix(names[0], "mcp__"))
	}
	if !e.selects(names, translated) {
		return &reply{}, nil
	}
	input := map[string]any{"tool_name": names[0], "tool_input": translated}
	maps.Copy(input, more)
	if in.AgentPath != in.Agent { // a subagent's call
		input["agent_id"], input["agent_type"] = in.SessionID, in.Agent
	}
	r, err := e.call(ctx, in.SessionID, input)
	if err != nil || r.newInput == nil || e.event != preToolUse || r.verdict >= block {
		return r, err
	}
	updated, err := r.args()
	if err != nil {
		return nil, e.wrap(err)
	}
	*args = translate(in.Tool, in.Origin, updated, true)
	if path != "" {
		delete(*args, "filePath")
	}
	return r, nil
}

// patchPaths returns the path for each run: the paths in a patch; after it was applied, without removed files. For other calls, and for a
// patch that the tool cannot read, it returns one empty path.
func patchPaths(event string, in *sdk.ToolInput, args sdk.Object) []string {
	if in.Tool != "apply_patch" || !isOurs(in.Origin) {
		return []string{""}
	}
	text, _ := args["patchText"].(string)
	paths, removed, err := files.PatchPaths(text)
	if event != postToolUse {
		paths = append(paths, removed...)
	}
	if err != nil || len(paths) == 0 {
		return []string{""}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// strictest returns the answer that decides before a call. A patch is allowed if all its files are.
func strictest(replies []*reply) *reply {
	for _, r := range replies {
		if r.verdict == ask {
			return r
		}
	}
	for _, r := range replies {
		if r.verdict != allow || r.newInput != nil { // does not allow this patch
			return r
		}
	}
	return replies[0]
}

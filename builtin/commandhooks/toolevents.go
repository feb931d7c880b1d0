package commandhooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/sdk"
)

// decided returns the decision of the commands at PreToolUse about a call. They run once, at
// tool.execute.before.
func (p *Plugin) decided(_ context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
	return p.calls.decision(in), nil
}

// toolInput returns the arguments of a tool call in the dialect. A file has its absolute path: guards compare it with */.env or the project's
// directory. A stored output keeps its name.
func (p *Plugin) toolInput(tool string, origin sdk.Origin, args sdk.Object) sdk.Object {
	if args == nil {
		return sdk.Object{}
	}
	input := translate(tool, origin, args, false)
	if file, ok := input["file_path"].(string); ok && isOurs(origin) && !(tool == "read" && strings.HasPrefix(file, paths.OutputPrefix)) {
		if path, err := paths.Resolve(&sdk.ToolCall{Directory: p.project.Directory, Worktree: p.project.Worktree}, file); err == nil {
			input["file_path"] = path
		}
	}
	return input
}

// details returns data that the dialect has no fields for.
func details(in *sdk.ToolInput) map[string]any {
	return map[string]any{
		"tool": in.Tool, "origin": in.Origin, "messageID": in.MessageID, "agent": in.Agent, "agentPath": in.AgentPath,
	}
}

// before runs a command at PreToolUse.
func (e *entry) before(ctx context.Context, in *sdk.ToolInput, v *sdk.ToolBeforeValue) error {
	replies, args, err := e.callTool(ctx, in, v.Args, map[string]any{"tool_use_id": in.CallID, "tenon": details(in)})
	if err != nil {
		return err
	}
	r := strictest(replies)
	reason := cmp.Or(r.reason, "command hook "+e.where)
	for _, reply := range replies {
		if reply.context != "" {
			e.plugin.calls.update(in, func(c *call) { c.texts = append(c.texts, reply.context) })
		}
	}
	switch r.verdict {
	case halt:
		return sdk.Halt(r.because(e))
	case block:
		return sdk.Deny(r.because(e))
	case ask: // until the end of the call
		e.plugin.calls.update(in, func(c *call) { c.ask = reason })
	case allow:
		final, err := json.Marshal(args)
		if err != nil {
			return err
		}
		e.plugin.calls.update(in, func(c *call) { c.allowed, c.reason = final, reason })
	}
	v.Args = args
	return nil
}

// addTexts adds the texts of the commands at PreToolUse to the output that the model sees.
func (p *Plugin) addTexts(_ context.Context, in *sdk.ToolAfterInput, v *sdk.ToolAfterValue) error {
	for _, text := range p.calls.end(&in.ToolInput) {
		v.Output += "\n\n" + text
	}
	return nil
}

// permission runs a command at PermissionRequest.
func (e *entry) permission(ctx context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
	if e.asks && in.Permission == sampling {
		return sdk.Decision{}, nil // or a question would ask about itself, or about another's, without end
	}
	tool := &sdk.ToolInput{Tool: in.Permission, Origin: sdk.Origin{Carrier: sdk.CarrierBuiltin}, SessionID: in.SessionID} // outside a call
	if in.Tool != nil && in.Tool.ID != "" {
		tool.Tool, tool.Origin = in.Tool.ID, in.Tool.Origin
	}
	var args sdk.Object
	if len(in.Args) > 0 {
		if err := json.Unmarshal(in.Args, &args); err != nil {
			return sdk.Decision{}, err
		}
	}
	more := map[string]any{"tenon": map[string]any{"tool": tool.Tool, "permission": in.Permission, "patterns": in.Patterns, "agent": in.Agent}}
	if in.Tool != nil {
		more["tool_use_id"] = in.Tool.CallID
	}
	replies, _, err := e.callTool(ctx, tool, args, more)
	if err != nil {
		return sdk.Decision{}, err
	}
	r := strictest(replies)
	switch {
	case r.verdict == halt:
		return sdk.Decision{Verdict: sdk.VerdictHalt, Reason: r.because(e)}, nil
	case r.verdict == block:
		return sdk.Decision{Verdict: sdk.VerdictDeny, Reason: r.because(e)}, nil
	case r.verdict == ask:
		return sdk.Decision{Verdict: sdk.VerdictAsk, Reason: r.reason}, nil
	case r.verdict == allow && r.newInput != nil:
		return sdk.Decision{}, e.wrap(errors.New("updatedInput has no effect at PermissionRequest, which allows the final arguments; change them at PreToolUse"))
	case r.verdict == allow && !sdk.Deliberate(in.Permission): // allowing a tool does not permit repeated calls or unconfined commands
		return sdk.Decision{Verdict: sdk.VerdictAllow, Reason: r.reason}, nil
	}
	return sdk.Decision{}, nil
}

// after runs a command at PostToolUse or PostToolUseFailure. A denied call did not run, so neither event applies. A shell command that ended with
// an exit code other than 0 failed in the dialect.
func (e *entry) after(ctx context.Context, in *sdk.ToolAfterInput, v *sdk.ToolAfterValue) error {
	event := ""
	code, exited := v.Metadata["exit"]
	shell := in.Tool == "bash" && isOurs(in.Origin)
	switch {
	case in.Outcome == sdk.OutcomeError, in.Outcome == sdk.OutcomeAborted, in.Outcome == sdk.OutcomeOK && shell && exited && fmt.Sprint(code) != "0":
		event = postToolUseFailure
	case in.Outcome == sdk.OutcomeOK:
		event = postToolUse
	}
	if e.event != event {
		return nil
	}
	var args sdk.Object
	if err := json.Unmarshal(in.Args, &args); err != nil {
		return err
	}
	more := map[string]any{"tool_use_id": in.CallID, "tenon": details(&in.ToolInput)}
	if event == postToolUse {
		response := map[string]any{"output": v.Output, "title": v.Title, "metadata": v.Metadata}
		if shell {
			response["stdout"], response["stderr"] = v.Output, ""
		} else if path, ok := v.Metadata["filepath"]; ok {
			response["filePath"] = path
		}
		more["tool_response"] = response
	} else {
		more["error"], more["is_interrupt"] = v.Output, in.Outcome == sdk.OutcomeAborted
	}
	replies, _, err := e.callTool(ctx, &in.ToolInput, args, more)
	for _, r := range replies {
		if r.newOutput != nil && event == postToolUse {
			v.Output, v.Attachments = *r.newOutput, nil
		}
	}
	for _, r := range replies {
		if r.verdict >= block {
			v.Output += "\n\nA hook objects: " + r.because(e)
		}
		if r.context != "" {
			v.Output += "\n\n" + r.context
		}
	}
	return err
}

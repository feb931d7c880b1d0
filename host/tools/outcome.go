package tools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Outcome is the outcome of a call.
type Outcome struct {
	Kind   sdk.Outcome
	Result *sdk.ToolResult // the tool's; may be nil unless OutcomeOK
	Err    error           // nil if OutcomeOK
	Hooked bool            // the hooks at tool.execute.after have run
	// refusal is the original Err of OutcomeDenied. Hooks see and change only its text.
	refusal *sdk.Refusal
}

// Failed returns the outcome of an error: denied for a refusal.
func Failed(err error) Outcome {
	if refusal, ok := errors.AsType[*sdk.Refusal](err); ok {
		return Outcome{Kind: sdk.OutcomeDenied, Err: err, refusal: refusal}
	}
	return Outcome{Kind: sdk.OutcomeError, Err: err}
}

// Abort makes the outcome that of an aborted call. If withOutput is set, the text contains the output of a tool that returned nevertheless.
func (o *Outcome) Abort(cfg sdk.ToolOutputConfig, withOutput bool) {
	text := live.InterruptedByAbort.Running
	if withOutput && o.Kind == sdk.OutcomeOK && o.Result.Output != "" {
		lines, size := OutputLimits(cfg)
		kept := CutOutput(o.Result.Output, lines, size/2, o.Result.KeepTail)
		if len(kept) < len(o.Result.Output) {
			text += fmt.Sprintf("; %d of %d bytes of its output:", len(kept), len(o.Result.Output))
		}
		text += "\n" + kept
	}
	o.Kind, o.Err = sdk.OutcomeAborted, errors.New(text)
}

// Failure returns the error of a call for the plugin that made it, with the text that hooks gave it.
func (o *Outcome) Failure(ctx context.Context) error {
	switch {
	case o.Kind == sdk.OutcomeAborted:
		return errors.Join(o.Err, context.Cause(ctx))
	case o.refusal == nil:
		return o.Err
	case o.refusal.Error() == o.Err.Error():
		return o.refusal
	}
	return &sdk.Refusal{Halt: o.refusal.Halt, Reason: o.Err.Error()}
}

// hostKeys are the keys of a call's metadata that only the host sets.
var hostKeys = []string{"denied", "refusedBy", "interrupted", "outputPath"}

// ofTool returns metadata of a tool or a hook without the keys of the host.
func ofTool(metadata sdk.Object) sdk.Object {
	if slices.ContainsFunc(hostKeys, func(key string) bool { return metadata[key] != nil }) {
		metadata = maps.Clone(metadata)
		maps.DeleteFunc(metadata, func(key string, _ any) bool { return slices.Contains(hostKeys, key) })
	}
	return metadata
}

// State returns the state of a finished call, and the outputs to store. was is the state before; cfg bounds the output unless it is nil.
func (o *Outcome) State(was *sdk.ToolState, cfg *sdk.ToolOutputConfig) (state sdk.ToolState, blobs [][]byte) {
	state = sdk.ToolState{Input: was.Input, Time: sdk.ToolTime{Start: was.Time.Start, End: live.Now()}}
	if o.Result != nil {
		result := *o.Result // the tool may return it again
		result.Metadata = ofTool(result.Metadata)
		o.Result = &result
	}
	if o.Kind == sdk.OutcomeOK {
		state.Status, state.Title, state.Attachments = sdk.ToolCompleted, o.Result.Title, o.Result.Attachments
		state.Output, state.Metadata = o.Result.Output, o.Result.Metadata
		if cfg != nil {
			state.Output, state.Metadata, blobs = FitOutput(*cfg, o.Result)
		}
		return state, blobs
	}
	state.Status, state.Error = sdk.ToolError, o.Err.Error()
	if cfg != nil {
		_, size := OutputLimits(*cfg)
		state.Error = visible.Cut(state.Error, size, "…")
	}
	state.Metadata = ofTool(was.Metadata)
	if o.Result != nil && (o.Hooked || len(o.Result.Metadata) > 0) {
		state.Metadata = o.Result.Metadata
	}
	switch o.Kind {
	case sdk.OutcomeAborted:
		state.Metadata = live.WithKey(state.Metadata, "interrupted", true)
	case sdk.OutcomeDenied:
		state.Metadata = live.WithKey(state.Metadata, "denied", true)
		if o.refusal != nil && o.refusal.By != "" {
			state.Metadata = live.WithKey(state.Metadata, "refusedBy", o.refusal.By)
		}
	}
	return state, nil
}

// eventPluginCall is published for a tool call of a plugin: at its start, at progress and at its end.
const eventPluginCall = "plugin.tool.updated"

// PluginCallEvent returns the event for the current state of a plugin's call. template is the command whose
// template makes the call, if any.
func PluginCallEvent(p *sdk.ToolPart, plugin, template string) sdk.Event {
	info := &sdk.Object{
		"sessionID": p.SessionID, "messageID": p.MessageID, "callID": p.CallID, "plugin": plugin,
		"tool": p.Tool, "status": p.State.Status, "input": p.State.Input,
	}
	for key, text := range map[string]string{"title": p.State.Title, "error": p.State.Error, "template": template} {
		if text != "" {
			(*info)[key] = text
		}
	}
	if len(p.State.Metadata) > 0 {
		(*info)["metadata"] = p.State.Metadata
	}
	return sdk.Event{Type: eventPluginCall, Properties: info}
}

package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// commandEvent holds the fields of an event that the command reads.
type commandEvent struct {
	Name      string          `json:"hook_event_name"`
	SessionID string          `json:"session_id"`
	CallID    string          `json:"tool_use_id"`
	ToolName  string          `json:"tool_name"`
	ToolInput json.RawMessage `json:"tool_input"`
}

// runCommand is the plugin of the suite as a command hook: it is started for each event, reads the event, runs its hook, and writes the decision.
// The environment variable CONFORMANCE_OPTIONS holds the plugin's options.
func runCommand(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p) // Go would exit with status 2, which is a decision in this dialect
		}
	}()
	raw, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var e commandEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	point, input, value := sdk.PointToolBefore, any(sdk.ToolInput{SessionID: e.SessionID, CallID: e.CallID, Tool: e.ToolName}), any(map[string]any{"args": e.ToolInput})
	if e.Name == "PermissionRequest" {
		point, value = sdk.PointPermissionAsk, nil
		input = sdk.PermissionRequest{SessionID: e.SessionID, Permission: e.ToolName, Args: e.ToolInput}
	}
	req, err := hookRequest(input, value)
	if err != nil {
		return err
	}
	data, err := json.Marshal(req)
	if err != nil {
		return err
	}
	plugin := conformance.New(sdk.CarrierCommand)
	plugin.Exit = os.Exit
	options := json.RawMessage(os.Getenv("CONFORMANCE_OPTIONS"))
	g := guest.New(plugin)
	start := &guest.StartRequest{Options: options, Hooks: []guest.HookRef{{Point: point, Name: string(point)}}}
	if err := g.Start(ctx, start, sdktest.New(plugin, sdktest.Options{Options: options})); err != nil {
		return err
	}
	answer, err := g.Hook(ctx, 0, data)
	if err != nil {
		return err
	}
	decision, err := decide(point, req, &answer)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(decision)
}

func hookRequest(input, value any) (*guest.HookRequest, error) {
	raw, err := json.Marshal(input)
	if err != nil || value == nil {
		return &guest.HookRequest{Input: raw}, err
	}
	v, err := json.Marshal(value)
	return &guest.HookRequest{Input: raw, Value: v}, err
}

// decide returns the answer of the hook in the dialect.
func decide(point sdk.Point, req *guest.HookRequest, answer *sdk.Answer) (map[string]any, error) {
	switch {
	case answer.Verdict == sdk.VerdictHalt:
		return map[string]any{"continue": false, "stopReason": answer.Reason}, nil
	case point == sdk.PointPermissionAsk:
		if answer.Verdict == sdk.VerdictAbstain {
			return map[string]any{}, nil
		}
		return map[string]any{"hookSpecificOutput": map[string]any{
			"hookEventName": "PermissionRequest", "permissionDecision": answer.Verdict, "permissionDecisionReason": answer.Reason,
		}}, nil
	case answer.Verdict == sdk.VerdictDeny:
		return map[string]any{"hookSpecificOutput": map[string]any{
			"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": answer.Reason,
		}}, nil
	case len(answer.Changes) == 0:
		return map[string]any{}, nil
	}
	var v sdk.ToolBeforeValue
	if err := value.Decode(req.Value, &v); err != nil {
		return nil, err
	}
	if err := value.Apply(&v, answer.Changes); err != nil {
		return nil, err
	}
	return map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "PreToolUse", "updatedInput": v.Args}}, nil
}

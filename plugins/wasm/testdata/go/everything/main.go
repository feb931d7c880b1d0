// Command everything is a guest that uses all that sdk/wasm has.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/wasm"
)

var _ = wasm.Serve(plugin())

func main() {}

type everything struct {
	host  sdk.Host
	calls int // of this instance
}

func plugin() *sdk.Bundle {
	e := &everything{}
	system := sdk.OnChatSystem(func(_ context.Context, in *sdk.ChatInput, v *sdk.ChatSystemValue) error {
		v.System[0] = strings.ToUpper(v.System[0])
		return nil
	})
	text := sdk.OnTextComplete(func(_ context.Context, _ *sdk.TextCompleteInput, v *sdk.TextCompleteValue) error {
		switch v.Text {
		case "keep":
			return nil
		case "panic":
			var none *sdk.TextCompleteValue
			v.Text = none.Text
		case "memory":
			for kept := [][]byte(nil); ; {
				kept = append(kept, make([]byte, 8<<20))
			}
		case "error":
			return errors.New("no such luck")
		}
		v.Text = "[" + v.Text + "]"
		return nil
	})
	before := sdk.OnToolBefore(func(context.Context, *sdk.ToolInput, *sdk.ToolBeforeValue) error { return sdk.Halt("stop it") })
	gate := sdk.OnPermissionAsk(func(_ context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
		return sdk.Decision{Verdict: sdk.VerdictDeny, Reason: in.Permission + " " + strings.Join(in.Patterns, ",")}, nil
	})
	stop := sdk.OnTurnStop(func(_ context.Context, in *sdk.TurnStopInput) (sdk.StopDecision, error) {
		return sdk.StopDecision{Continue: in.Continued == 0, Message: "and now?"}, nil
	})
	return &sdk.Bundle{
		Info:         sdk.Manifest{Name: "everything", Version: "1.0.0", Carrier: sdk.CarrierWASM},
		HookList:     []sdk.Hook{system, text, before, gate, stop},
		ToolList:     []sdk.Tool{tool{e}},
		ProtocolList: []sdk.Protocol{{Name: "mute", Open: func(sdk.ProviderInfo) (sdk.ModelClient, error) { return mute{}, nil }}},
		OnStart: func(_ context.Context, h sdk.Host) error {
			e.host = h
			h.Logger().Warn("started", "project", h.Project().ID, "options", string(h.Options()))
			return nil
		},
	}
}

// mute cannot list its models.
type mute struct{}

func (mute) Stream(context.Context, *sdk.ModelRequest, func(sdk.StreamEvent) error) error { return nil }

// tool does what its argument says and returns what came of it.
type tool struct{ *everything }

func (t tool) Definition() sdk.ToolDefinition {
	return sdk.ToolDefinition{ID: "do", Description: "Does it", Parameters: json.RawMessage(`{"type":"object","properties":{"do":{"type":"string"}}}`)}
}

func (t tool) Prepare(_ context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	return []sdk.PermissionRequest{{Permission: "do", Patterns: []string{string(call.Args)}}}, nil
}

func (t tool) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	var args struct{ Do string }
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return nil, err
	}
	t.calls++
	got, err := t.do(ctx, args.Do, call)
	switch {
	case errors.Is(err, sdk.ErrNotGranted):
		got = "denied: " + err.Error()
	case err != nil:
		return nil, err
	}
	return &sdk.ToolResult{Title: args.Do, Output: fmt.Sprint(got)}, nil
}

func (t *everything) do(ctx context.Context, what string, call *sdk.ToolCall) (any, error) {
	switch what {
	case "count":
		return t.calls, nil
	case "kv":
		kv := t.host.(sdk.KeyValue)
		if err := errors.Join(kv.Set(ctx, "a", []byte("1\xff")), kv.Set(ctx, "b", nil), kv.Delete(ctx, "b")); err != nil {
			return nil, err
		}
		value, found, err := kv.Get(ctx, "a")
		keys, err2 := kv.Keys(ctx, "")
		return fmt.Sprintf("%q %v %v", value, found, keys), errors.Join(err, err2)
	case "secret":
		return t.host.(sdk.SecretReader).Secret(ctx, "TOKEN")
	case "config":
		return t.host.(sdk.ConfigReader).Config().Model, nil
	case "tool":
		result, err := t.host.(sdk.ToolCaller).CallTool(ctx, sdk.ToolRequest{Tool: "other", Args: json.RawMessage(`{"a":1}`)})
		if err != nil {
			return nil, err
		}
		return result.Output, nil
	case "session":
		messages, err := call.Host.(sdk.MessageReader).Messages(ctx)
		return len(messages), err
	case "ask":
		call.Host.Progress("asking", sdk.Object{"n": 1.0})
		var refusal *sdk.Refusal
		if err := call.Host.Ask(ctx, sdk.PermissionRequest{Permission: "fly", Patterns: []string{"far"}}); errors.As(err, &refusal) {
			return "refused: " + refusal.Reason, nil
		}
		return "granted", nil
	case "question":
		answers, err := call.Host.(sdk.Questioner).Question(ctx, []sdk.Question{{Question: "really?", Header: "Well"}})
		return answers, err
	case "sample":
		result, err := t.host.(sdk.Sampler).Sample(ctx, sdk.SampleRequest{System: "be brief", Small: true})
		if err != nil {
			return nil, err
		}
		return result.Text, nil
	case "exit":
		panic("the tool fell over")
	}
	return nil, fmt.Errorf("cannot do %q", what)
}

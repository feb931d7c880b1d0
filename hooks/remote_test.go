package hooks_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// pipeCarrier is the smallest possible carrier: it sends calls as lines of JSON to a guest at the other end of a pipe and reads the
// answers. One call at a time.
type pipeCarrier struct {
	mu      sync.Mutex
	out     *io.PipeWriter
	answers *bufio.Reader
}

// reply is an answer as it goes over the pipe.
type reply struct {
	Answer sdk.Answer `json:"answer"`
	Error  string     `json:"error,omitempty"`
}

// carry runs the handler of a hook behind a pipe.
func carry(t *testing.T, h sdk.Hook) sdk.Hook {
	t.Helper()
	calls, toGuest := io.Pipe()
	toHost, answers := io.Pipe()
	c := &pipeCarrier{out: toGuest, answers: bufio.NewReader(toHost)}
	done := make(chan struct{})
	handler := h.Handler
	go func() { // ends when the test closes the pipe
		defer close(done)
		serve(handler, bufio.NewReader(calls), answers)
	}()
	t.Cleanup(func() {
		_ = toGuest.Close()
		<-done
	})
	h.Handler, h.Remote = nil, c
	return h
}

func (c *pipeCarrier) HandleRemote(_ context.Context, call *sdk.RemoteCall) (sdk.Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line, err := json.Marshal(call)
	if err != nil {
		return sdk.Answer{}, err
	}
	if _, err := c.out.Write(append(line, '\n')); err != nil {
		return sdk.Answer{}, err
	}
	line, err = c.answers.ReadBytes('\n')
	if err != nil {
		return sdk.Answer{}, err
	}
	var r reply
	if err := json.Unmarshal(line, &r); err != nil {
		return sdk.Answer{}, err
	}
	if r.Error != "" {
		return sdk.Answer{}, errors.New(r.Error)
	}
	return r.Answer, nil
}

// serve is the guest: it decodes a call, runs the handler on its value and answers with what changed.
func serve(h sdk.Handler, calls *bufio.Reader, answers io.Writer) {
	for {
		line, err := calls.ReadBytes('\n')
		if err != nil {
			return
		}
		answer, err := guest(h, line)
		r := reply{Answer: answer}
		if err != nil {
			r.Error = err.Error()
		}
		out, err := json.Marshal(r)
		if err != nil {
			return
		}
		if _, err := answers.Write(append(out, '\n')); err != nil {
			return
		}
	}
}

func guest(h sdk.Handler, line []byte) (sdk.Answer, error) {
	var call sdk.RemoteCall
	if err := json.Unmarshal(line, &call); err != nil {
		return sdk.Answer{}, err
	}
	info, _ := hookpoint.Of(string(call.Point))
	local := &sdk.HookCall{Point: call.Point, Input: info.NewInput()}
	if err := json.Unmarshal(call.Input, local.Input); err != nil {
		return sdk.Answer{}, err
	}
	var before any
	if info.NewValue != nil {
		before, local.Value = info.NewValue(), info.NewValue()
		if err := errors.Join(json.Unmarshal(call.Value, before), json.Unmarshal(call.Value, local.Value)); err != nil {
			return sdk.Answer{}, err
		}
	}
	answer, err := h.Handle(context.Background(), local)
	if err != nil || before == nil {
		return answer, err
	}
	answer.Changes, err = value.Diff[sdk.Change](before, local.Value)
	return answer, err
}

// carrierCase is something that a handler may do.
type carrierCase struct {
	hook sdk.Hook
	fire func(ctx context.Context, e *hooks.Engine, s hooks.Scope) (any, error)
}

func carrierCases() map[string]carrierCase {
	onMessages := func(f func(v *sdk.ChatMessagesValue) error) carrierCase {
		return carrierCase{
			sdk.OnChatMessages(func(_ context.Context, _ *sdk.ChatInput, v *sdk.ChatMessagesValue) error { return f(v) }),
			func(ctx context.Context, e *hooks.Engine, s hooks.Scope) (any, error) {
				v := &sdk.ChatMessagesValue{Messages: []sdk.MessageWithParts{{
					Info: &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: "msg_1"}},
					Parts: sdk.Parts{
						&sdk.TextPart{PartHead: sdk.PartHead{ID: "prt_1"}, Text: "hello", Extra: sdk.Extra{"x": json.RawMessage(`{"a": 1}`)}},
						&sdk.ToolPart{PartHead: sdk.PartHead{ID: "prt_2"}, State: sdk.ToolState{
							Status: sdk.ToolCompleted, Input: json.RawMessage(`{"n": 12345678901234567890}`), Output: "secret",
						}},
					},
				}}}
				_, err := e.Transform(ctx, sdk.PointChatMessages, s, &sdk.ChatInput{Agent: "build"}, v)
				return v, err
			},
		}
	}
	onArgs := func(f func(in *sdk.ToolInput, v *sdk.ToolBeforeValue) error) carrierCase {
		return carrierCase{
			sdk.OnToolBefore(func(_ context.Context, in *sdk.ToolInput, v *sdk.ToolBeforeValue) error { return f(in, v) }),
			func(ctx context.Context, e *hooks.Engine, s hooks.Scope) (any, error) {
				v := &sdk.ToolBeforeValue{Args: sdk.Object{"n": 1, "list": []string{"a"}, "deep": map[string]any{"k": "v"}}}
				r, err := e.Transform(ctx, sdk.PointToolBefore, s, &sdk.ToolInput{Tool: "bash", CallID: "c"}, v)
				return []any{r, v}, err
			},
		}
	}
	onAsk := func(d sdk.Decision, err error) carrierCase {
		return carrierCase{
			sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) { return d, err }),
			func(ctx context.Context, e *hooks.Engine, s hooks.Scope) (any, error) {
				return e.Gate(ctx, sdk.PointPermissionAsk, s, &sdk.PermissionRequest{Permission: "bash", Args: json.RawMessage(`{}`)})
			},
		}
	}
	return map[string]carrierCase{
		"nothing": onMessages(func(*sdk.ChatMessagesValue) error { return nil }),
		"text": onMessages(func(v *sdk.ChatMessagesValue) error {
			v.Messages[0].Parts[0].(*sdk.TextPart).Text = "<bye>"
			return nil
		}),
		"output": onMessages(func(v *sdk.ChatMessagesValue) error {
			v.Messages[0].Parts[1].(*sdk.ToolPart).State.Output = "***"
			return nil
		}),
		"metadata": onMessages(func(v *sdk.ChatMessagesValue) error {
			v.Messages[0].Parts[1].(*sdk.ToolPart).State.Metadata = sdk.Object{"a": 1}
			return nil
		}),
		"raw": onMessages(func(v *sdk.ChatMessagesValue) error {
			v.Messages[0].Parts[1].(*sdk.ToolPart).State.Input = json.RawMessage(`{"z": 1}`)
			return nil
		}),
		"append": onMessages(func(v *sdk.ChatMessagesValue) error {
			v.Messages[0].Parts = append(v.Messages[0].Parts, &sdk.TextPart{Text: "more"})
			return nil
		}),
		"remove":      onMessages(func(v *sdk.ChatMessagesValue) error { v.Messages[0].Parts = v.Messages[0].Parts[1:]; return nil }),
		"nil part":    onMessages(func(v *sdk.ChatMessagesValue) error { v.Messages[0].Parts[0] = nil; return nil }),
		"an argument": onArgs(func(_ *sdk.ToolInput, v *sdk.ToolBeforeValue) error { v.Args["n"] = 2; return nil }),
		"same value":  onArgs(func(_ *sdk.ToolInput, v *sdk.ToolBeforeValue) error { v.Args["n"] = 1.0; return nil }),
		"a list":      onArgs(func(_ *sdk.ToolInput, v *sdk.ToolBeforeValue) error { v.Args["list"] = []any{"a", "b"}; return nil }),
		"new and gone": onArgs(func(_ *sdk.ToolInput, v *sdk.ToolBeforeValue) error {
			v.Args["b"] = true
			delete(v.Args, "deep")
			return nil
		}),
		"all gone": onArgs(func(_ *sdk.ToolInput, v *sdk.ToolBeforeValue) error { v.Args = nil; return nil }),
		"its input": onArgs(func(in *sdk.ToolInput, v *sdk.ToolBeforeValue) error {
			v.Args["tool"] = in.Tool + in.CallID
			return nil
		}),
		"deny":        onArgs(func(*sdk.ToolInput, *sdk.ToolBeforeValue) error { return sdk.Deny("no") }),
		"halt":        onArgs(func(*sdk.ToolInput, *sdk.ToolBeforeValue) error { return sdk.Halt("stop") }),
		"error":       onArgs(func(*sdk.ToolInput, *sdk.ToolBeforeValue) error { return errors.New("no luck") }),
		"allow":       onAsk(sdk.Decision{Verdict: sdk.VerdictAllow, Reason: "fine"}, nil),
		"abstain":     onAsk(sdk.Decision{}, nil),
		"ask":         onAsk(sdk.Decision{Verdict: sdk.VerdictAsk}, nil),
		"gate error":  onAsk(sdk.Decision{}, errors.New("no rules")),
		"bad verdict": onAsk(sdk.Decision{Verdict: sdk.VerdictContinue}, nil),
	}
}

// TestCarriersAreAlike checks that a hook behind a carrier has the same effect as in this process, and
// leaves the same entry byte for byte, the duration apart.
func TestCarriersAreAlike(t *testing.T) {
	t.Parallel()
	fields := map[string][]string{
		"all": {""}, "some": {"/messages/*/parts/*/text", "/messages/0/parts/1/state/output", "/args/n", "/args/deep"}, "none": nil,
	}
	for name, c := range carrierCases() {
		for writes, list := range fields {
			t.Run(name+" writes "+writes, func(t *testing.T) {
				t.Parallel()
				hook := c.hook
				hook.Writes = list
				run := func(h sdk.Hook) (string, string, string) {
					e, told := engine(t, plugin("p", h))
					var l hooks.Ledger
					v, err := c.fire(t.Context(), e, hooks.Scope{Ledger: &l, Subject: "s"})
					raw, jsonErr := json.Marshal(v)
					if jsonErr != nil {
						t.Fatal(jsonErr)
					}
					return timeless(t, &l), fmt.Sprintf("%s %v", raw, err), fmt.Sprint(len(told.all()))
				}
				inLedger, inValue, inNotices := run(hook)
				outLedger, outValue, outNotices := run(carry(t, hook))
				if name == "nil part" || name == "bad verdict" {
					// The cause is found in different places, but the effect is the same.
					inLedger, outLedger = withoutCause(inLedger), withoutCause(outLedger)
					inValue, outValue = withoutCause(inValue), withoutCause(outValue)
				}
				if diff := cmp.Diff(inLedger, outLedger); diff != "" {
					t.Errorf("ledger (-here +behind the carrier):\n%s", diff)
				}
				if diff := cmp.Diff(inValue, outValue); diff != "" {
					t.Errorf("outcome (-here +behind the carrier):\n%s", diff)
				}
				if inNotices != outNotices {
					t.Errorf("%s notices here, %s behind the carrier", inNotices, outNotices)
				}
			})
		}
	}
}

// withoutCause drops the text after "bad answer" and similar words in an error.
func withoutCause(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.Contains(line, `"error":`) || strings.Contains(line, `"reason":`) {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

func TestRemoteIsSentWhatItReads(t *testing.T) {
	t.Parallel()
	var got sdk.RemoteCall
	h := appends("")
	h.Handler, h.Name = nil, "mine"
	h.Reads = []string{"/system/1"}
	h.Remote = remoteFunc(func(_ context.Context, call *sdk.RemoteCall) (sdk.Answer, error) {
		got = *call
		return sdk.Answer{Changes: []sdk.Change{{Pointer: "/system/1", Value: json.RawMessage(` "B" `)}}}, nil
	})
	e, _ := engine(t, plugin("p", h))
	v := &sdk.ChatSystemValue{System: []string{"a", "b"}}
	if _, err := e.Transform(t.Context(), sdk.PointChatSystem, hooks.Scope{}, &sdk.ChatInput{Agent: "<build>"}, v); err != nil {
		t.Fatal(err)
	}
	if string(got.Value) != `{"system":[null,"b"]}` || got.Hook != "mine" || got.Point != sdk.PointChatSystem {
		t.Errorf("call = %+v with value %s", got, got.Value)
	}
	if !strings.Contains(string(got.Input), `"agent":"<build>"`) {
		t.Errorf("input = %s", got.Input)
	}
	if diff := cmp.Diff([]string{"a", "B"}, v.System); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
}

// TestGarbageFromARemote checks that an answer that makes no sense changes nothing, even in part.
func TestGarbageFromARemote(t *testing.T) {
	t.Parallel()
	first := sdk.Change{Pointer: "/system/0", Value: json.RawMessage(`"x"`)}
	cases := map[string]sdk.Answer{
		"no JSON":      {Changes: []sdk.Change{first, {Pointer: "/system/1", Value: json.RawMessage(`{`)}}},
		"no pointer":   {Changes: []sdk.Change{first, {Pointer: "system", Value: json.RawMessage(`1`)}}},
		"no field":     {Changes: []sdk.Change{first, {Pointer: "/nope", Value: json.RawMessage(`1`)}}},
		"wrong type":   {Changes: []sdk.Change{first, {Pointer: "/system", Value: json.RawMessage(`1`)}}},
		"out of range": {Changes: []sdk.Change{first, {Pointer: "/system/7", Value: json.RawMessage(`"y"`)}}},
		"no value":     {Changes: []sdk.Change{first, {Pointer: "/system/0"}}},
		"verdict":      {Changes: []sdk.Change{first}, Verdict: sdk.VerdictDeny},
	}
	for name, answer := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := appends("")
			h.Handler, h.Remote = nil, remoteFunc(func(context.Context, *sdk.RemoteCall) (sdk.Answer, error) { return answer, nil })
			e, told := engine(t, plugin("bad", h))
			var l hooks.Ledger
			got, err := fire(t, e, &l)
			if err != nil || len(got) > 0 {
				t.Errorf("value = %v, %v, want it untouched", got, err)
			}
			if diff := cmp.Diff([]string{"bad error"}, outcomes(&l)); diff != "" {
				t.Errorf("ledger (-want +got):\n%s", diff)
			}
			if len(told.all()) != 1 {
				t.Errorf("notices = %+v, want one", told.all())
			}
		})
	}
}

// TestSilentRemote checks that a carrier that does not even return when its context ends is left behind.
func TestSilentRemote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := hang(t)
		h := gate("", "")
		h.Handler, h.Remote = nil, remoteFunc(func(context.Context, *sdk.RemoteCall) (sdk.Answer, error) {
			<-stuck.release
			return sdk.Answer{Verdict: sdk.VerdictAllow}, nil
		})
		e, _ := engine(t, plugin("bad", h), plugin("good", gate(sdk.VerdictAllow, "")))
		begin := time.Now()
		got, err := e.Gate(t.Context(), sdk.PointPermissionAsk, hooks.Scope{}, &sdk.PermissionRequest{})
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("the gate took %s, want 2s", took)
		}
		want := hooks.Result{Verdict: sdk.VerdictDeny, Reason: "plugin bad: hook permission.ask: timed out after 2s", Plugin: "bad"}
		if err != nil || got != want {
			t.Errorf("Gate = %+v, %v, want %+v", got, err, want)
		}
		stuck.free()
	})
}

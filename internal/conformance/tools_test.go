package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/internal/pause"
	"github.com/tenonhq/tenon/plugins/plugintest"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// bigOutput is the size of a large output of a tool, in bytes.
const bigOutput = 1 << 20

// toolHost opens a plugin without hooks.
func (s *suite) toolHost(t *testing.T, c Carrier, o sdktest.Options) *sdktest.Host {
	t.Helper()
	return open(t, c, newCase(t, conformance.Options{}), o)
}

// call calls a tool of the plugin by the id it has in the plugin.
func (s *suite) call(t *testing.T, h *sdktest.Host, id string, args any) (*sdk.ToolResult, error) {
	t.Helper()
	return h.Call(within(t), s.carrier.ToolID(id), args)
}

// toolCases are calls, results, errors, progress and deadlines. A call that ends the plugin has its own.
func (s *suite) toolCases() map[string]func(t *testing.T) {
	return map[string]func(t *testing.T){
		"definitions":        s.toolDefinitions,
		conformance.ToolEcho: s.echo,
		"error": func(t *testing.T) {
			if _, err := s.call(t, s.tools(t), conformance.ToolFail, map[string]string{"text": "no luck: " + exotic}); err == nil || err.Error() != "no luck: "+exotic {
				t.Errorf("error = %v, want the tool's own text", err)
			}
		},
		"panic": func(t *testing.T) {
			s.run(t, &toolCase{
				options: &sdktest.Options{}, tool: conformance.ToolFail, args: map[string]string{"fault": string(conformance.FaultPanic)}, refused: conformance.PanicText, check: s.echoes,
			})
		},
		conformance.ToolProgress: func(t *testing.T) {
			s.run(t, &toolCase{tool: conformance.ToolProgress, args: map[string]int{"steps": 3}, check: func(t *testing.T, h *sdktest.Host) {
				want := []sdktest.Progress{{Title: "step 1", Metadata: sdk.Object{"step": 1.0}}, {Title: "step 2", Metadata: sdk.Object{"step": 2.0}}, {Title: "step 3", Metadata: sdk.Object{"step": 3.0}}}
				if diff := cmp.Diff(want, h.Progress()); diff != "" {
					t.Errorf("progress (-want +got):\n%s", diff)
				}
			}})
		},
		conformance.ToolBig: func(t *testing.T) {
			result, err := s.call(t, s.tools(t), conformance.ToolBig, map[string]int{"bytes": bigOutput})
			if err != nil || len(result.Output) != bigOutput {
				t.Errorf("output: %.100v, %v, want %d bytes", result, err, bigOutput)
			}
		},
		"deadline":     func(t *testing.T) { s.toolEnds(t, context.DeadlineExceeded) },
		"cancellation": func(t *testing.T) { s.toolEnds(t, context.Canceled) },
		"concurrency":  s.manyTools,
	}
}

// echo checks that a call and its result are the same as in this process.
func (s *suite) echo(t *testing.T) {
	raw, err := json.Marshal(odd())
	if err != nil {
		t.Fatal(err)
	}
	call := func(h *sdktest.Host, id string) string {
		result, err := h.CallWith(within(t), &sdk.ToolCall{
			Tool: id, CallID: callID, SessionID: sessionID, MessageID: messageID, Agent: "build/helper", Args: raw, Directory: "/a/" + exotic, Worktree: "/a",
		})
		if err != nil {
			t.Fatal(err)
		}
		return s.rounded(toJSON(t, result))
	}
	if diff := cmp.Diff(call(s.toolHost(t, Builtin(), sdktest.Options{}), conformance.ToolEcho), call(s.tools(t), s.carrier.ToolID(conformance.ToolEcho))); diff != "" {
		t.Errorf("result (-in this process +over %s):\n%s", s.carrier.Name, diff)
	}
}

// echoes checks that the plugin is usable. A carrier may need a while to bring it back.
func (s *suite) echoes(t *testing.T, h *sdktest.Host) {
	t.Helper()
	var err error
	for range returns {
		if _, err = s.call(t, h, conformance.ToolEcho, map[string]string{}); err == nil {
			return
		}
		_ = pause.For(t.Context(), returnPause)
	}
	t.Errorf("the plugin does not come back: %v", err)
}

// toolDefinitions: what the host gets to know of each tool.
func (s *suite) toolDefinitions(t *testing.T) {
	here := s.toolHost(t, Builtin(), sdktest.Options{}).Plugin().(sdk.ToolSource)
	there := s.tools(t).Plugin().(sdk.ToolSource)
	want, got := map[string]sdk.ToolDescription{}, map[string]sdk.ToolDescription{}
	for _, tool := range here.Tools() {
		want[tool.Definition().ID] = normalDescription(t, tool)
	}
	for _, tool := range there.Tools() {
		got[tool.Definition().ID] = normalDescription(t, tool)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-in this process +over %s):\n%s", s.carrier.Name, diff)
	}
}

// normalDescription describes a tool without what is the default: its methods may return that.
func normalDescription(t *testing.T, tool sdk.Tool) sdk.ToolDescription {
	t.Helper()
	d := describe(tool)
	if d.Permission == d.ID {
		d.Permission = ""
	}
	if d.TimeoutMS == sdk.DefaultToolTimeout.Milliseconds() {
		d.TimeoutMS = 0
	}
	d.Parameters = json.RawMessage(indented(t, string(d.Parameters)))
	if p, ok := tool.(sdk.ToolPreparer); ok {
		requests, err := p.Prepare(within(t), &sdk.ToolCall{Tool: d.ID, CallID: callID, SessionID: sessionID, Args: json.RawMessage(`{}`)})
		// A tool without its own requests may ask for its key, as the host does for it.
		d.Prepares = d.ID == conformance.ToolPrepared && err == nil && len(requests) == 0
	}
	return d
}

// toolEnds: a call that hangs ends with its context, and the plugin is usable afterwards.
func (s *suite) toolEnds(t *testing.T, cause error) {
	h := s.toolHost(t, s.carrier, sdktest.Options{})
	s.echoes(t, h)
	const wait = 200 * time.Millisecond
	plugintest.InTime(t, wait, wait+grace, func() time.Duration {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(within(t), wait)
		if errors.Is(cause, context.Canceled) {
			ctx, cancel = context.WithCancel(within(t))
			time.AfterFunc(wait, cancel)
		}
		_, err := h.Call(ctx, s.carrier.ToolID(conformance.ToolFail), map[string]string{"fault": string(s.carrier.Hang)})
		took := time.Since(begin)
		cancel()
		if err == nil {
			t.Fatal("a call that hangs gave a result")
		}
		s.echoes(t, h)
		return took
	})
}

func (s *suite) manyTools(t *testing.T) {
	h := s.tools(t)
	errs := make(chan error, parallelCalls)
	for i := range parallelCalls {
		go func() { // ends with its call, which the loop below waits for
			text := strings.Repeat("x", i+1)
			_, err := s.call(t, h, conformance.ToolFail, map[string]string{"text": text})
			if err != nil && err.Error() == text {
				err = nil
			} else {
				err = errors.Join(errors.New("want "+text), err)
			}
			errs <- err
		}()
	}
	for range parallelCalls {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

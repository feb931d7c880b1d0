package sdktest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// redactor replaces a word in every output.
func redactor(word, by string) *sdk.Bundle {
	return bundle(sdk.OnToolAfter(func(_ context.Context, _ *sdk.ToolAfterInput, v *sdk.ToolAfterValue) error {
		if strings.Contains(v.Output, "broken") {
			return errors.New("cannot read it")
		}
		v.Output = strings.ReplaceAll(v.Output, word, by)
		return nil
	}), sdk.OnPermissionAsk(func(_ context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
		if in.Permission == word {
			return sdk.Decision{Verdict: sdk.VerdictDeny, Reason: by}, nil
		}
		return sdk.Decision{}, nil
	}))
}

// record runs the redactor on a few calls and returns them as lines.
func record(t *testing.T, p sdk.Plugin) string {
	t.Helper()
	h := sdktest.Start(t, p, sdktest.Options{})
	for _, output := range []string{"a hunter2 here", "nothing", "broken"} {
		v := &sdk.ToolAfterValue{Output: output, Metadata: sdk.Object{"big": json.Number("12345678901234567890")}}
		_, err := h.Fire(t.Context(), sdk.PointToolAfter, &sdk.ToolAfterInput{Outcome: sdk.OutcomeOK}, v)
		if (err != nil) != (output == "broken") {
			t.Fatal(err)
		}
	}
	if _, err := h.Fire(t.Context(), sdk.PointPermissionAsk, &sdk.PermissionRequest{Permission: "hunter2"}, nil); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, r := range h.Records() {
		if err := sdktest.WriteRecord(&b, r); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestReplay(t *testing.T) {
	t.Parallel()
	records, err := sdktest.ReadRecords(strings.NewReader("\n" + record(t, redactor("hunter2", "***")) + "\n"))
	if err != nil || len(records) != 4 {
		t.Fatalf("%d records, %v, want 4", len(records), err)
	}
	other := bundle(sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
		return sdk.Decision{Verdict: sdk.VerdictDeny, Reason: "***"}, nil
	}))
	cases := map[string]struct {
		plugin sdk.Plugin
		want   []string
	}{
		"the same": {redactor("hunter2", "***"), nil},
		"another text": {redactor("hunter2", "-"), []string{
			`record 1: tool.execute.after: /output: recorded "a *** here", now "a - here"`, `record 4: permission.ask: reason: recorded "***", now "-"`,
		}},
		"not at all": {redactor("missing", "***"), []string{
			`record 1: tool.execute.after: /output: recorded "a *** here", now "a hunter2 here"`,
			`record 4: permission.ask: verdict: recorded "deny", now nothing`, `record 4: permission.ask: reason: recorded "***", now nothing`,
		}},
		"no hook": {other, []string{
			`record 1: tool.execute.after: hook: recorded "tool.execute.after", now nothing`,
			`record 2: tool.execute.after: hook: recorded "tool.execute.after", now nothing`,
			`record 3: tool.execute.after: hook: recorded "tool.execute.after", now nothing`,
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := sdktest.Replay(t.Context(), c.plugin, records)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, d := range got {
				lines = append(lines, d.String())
			}
			if diff := cmp.Diff(c.want, lines); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

// A hook that starts its plugin on a busy machine may take longer than its limit in a turn.
func TestReplayTakesItsTime(t *testing.T) {
	t.Parallel()
	hook := sdk.OnTextComplete(nil)
	hook.Timeout = time.Nanosecond
	hook = remote(hook, func(ctx context.Context, _ *sdk.RemoteCall) (sdk.Answer, error) { return sdk.Answer{}, ctx.Err() })
	got, err := sdktest.Replay(t.Context(), bundle(hook), []sdktest.Record{{Point: sdk.PointTextComplete, Input: json.RawMessage(`{}`), Value: json.RawMessage(`{"text":"a"}`)}})
	if err != nil || len(got) > 0 {
		t.Errorf("Replay = %v, %v, want the recorded answer", got, err)
	}
}

// TestReplayOfFailures: a hook that fails now, fails otherwise, or does not fail any more.
func TestReplayOfFailures(t *testing.T) {
	t.Parallel()
	call := sdktest.Record{Point: sdk.PointTextComplete, Input: json.RawMessage(`{}`), Value: json.RawMessage(`{"text":"a"}`)}
	failed := call
	failed.Error = "no luck"
	hook := sdk.OnTextComplete(nil)
	answers := func(a sdk.Answer, err error) sdk.Plugin {
		return bundle(remote(hook, func(context.Context, *sdk.RemoteCall) (sdk.Answer, error) { return a, err }))
	}
	long := sdk.Answer{Changes: []sdk.Change{{Pointer: "/text", Value: json.RawMessage(`"` + strings.Repeat("long ", 30) + `"`)}}}
	cases := map[string]struct {
		record sdktest.Record
		plugin sdk.Plugin
		want   string
	}{
		"fails now":       {call, answers(sdk.Answer{}, errors.New("no luck")), `record 1: text.complete: error: recorded nothing, now "no luck"`},
		"fails otherwise": {failed, answers(sdk.Answer{}, errors.New("bad luck")), `record 1: text.complete: error: recorded "no luck", now "bad luck"`},
		"works again":     {failed, answers(sdk.Answer{}, nil), `record 1: text.complete: error: recorded "no luck", now nothing`},
		"bad verdict":     {call, answers(sdk.Answer{Verdict: sdk.VerdictAllow}, nil), `now "verdict \"allow\" has no meaning at this point"`},
		"bad change":      {call, answers(sdk.Answer{Changes: []sdk.Change{{Pointer: "/nope", Value: json.RawMessage("1")}}}, nil), "/nope"},
		"a long text":     {call, answers(long, nil), "\n  recorded: \"a\"\n  now:      \"long long"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := sdktest.Replay(t.Context(), c.plugin, []sdktest.Record{c.record})
			if err != nil || len(got) == 0 || !strings.Contains(got[0].String(), c.want) {
				t.Errorf("Replay = %v, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestBadRecords(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"no JSON":        `{"point":`,
		"no point":       `{"point":"chat.nothing","input":{},"answer":{}}`,
		"unknown field":  `{"point":"text.complete","input":{},"value":{},"answer":{},"extra":1}`,
		"no input":       `{"point":"text.complete","value":{},"answer":{}}`,
		"wrong input":    `{"point":"text.complete","input":[],"value":{},"answer":{}}`,
		"no value":       `{"point":"text.complete","input":{},"answer":{}}`,
		"value too many": `{"point":"permission.ask","input":{},"value":{},"answer":{}}`,
		"bad change":     `{"point":"text.complete","input":{},"value":{},"answer":{"changes":[{"pointer":"/nope","value":1}]}}`,
		"two in a line":  `{"point":"permission.ask","input":{},"answer":{}} {}`,
	}
	for name, line := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := sdktest.ReadRecords(strings.NewReader("\n" + line + "\n"))
			if !errors.Is(err, sdktest.ErrRecord) || !strings.Contains(err.Error(), "line 2") {
				t.Errorf("ReadRecords(%s) = %v, want one that wraps %v and names line 2", line, err, sdktest.ErrRecord)
			}
		})
	}
	if err := sdktest.WriteRecord(&bytes.Buffer{}, sdktest.Record{Point: "nowhere"}); !errors.Is(err, sdktest.ErrRecord) {
		t.Errorf("WriteRecord = %v, want one that wraps %v", err, sdktest.ErrRecord)
	}
}

// The error of the reader names the line that it could not read, also after empty lines.
func TestReadError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := sdktest.ReadRecords(io.MultiReader(strings.NewReader("\n\n"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("ReadRecords = %v", err)
	}
}

func FuzzReadRecords(f *testing.F) {
	f.Add([]byte(`{"point":"text.complete","input":{"sessionID":"s"},"value":{"text":"a"},"answer":{"changes":[{"pointer":"/text","value":"b"}]}}`))
	f.Add([]byte(`{"point":"permission.ask","hook":"mine","input":{"permission":"bash"},"answer":{"verdict":"deny","reason":"no"}}`))
	f.Add([]byte(`{"point":"chat.messages.transform","input":{},"value":{"messages":[{"info":{"role":"user","id":"m"},"parts":[{"type":"text","id":"p","text":"x"}]}]},"answer":{"changes":[{"pointer":"/messages/0/parts/0","remove":true}]}}`))
	f.Add([]byte(`{"point":"tool.execute.before","input":{},"value":{"args":{"a":12345678901234567890}},"answer":{},"error":"no"}` + "\n\n" + `{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := sdktest.ReadRecords(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, sdktest.ErrRecord) {
				t.Errorf("ReadRecords = %v, want one that wraps %v", err, sdktest.ErrRecord)
			}
			return
		}
		var text bytes.Buffer
		for _, r := range records {
			if err := sdktest.WriteRecord(&text, r); err != nil {
				t.Fatalf("WriteRecord of what was read = %v", err)
			}
		}
		again, err := sdktest.ReadRecords(&text)
		if err != nil || len(again) != len(records) {
			t.Errorf("read %d records, then %d, %v", len(records), len(again), err)
		}
	})
}

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/sdk"
)

// A server asks the user's model through the host, on behalf of the session of its call.
func TestSampling(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	var asked sdk.SampleRequest
	h.sample = func(r sdk.SampleRequest) (*sdk.SampleResult, error) {
		asked = r
		return &sdk.SampleResult{Text: "hi", Model: "p/m", FinishReason: "stop"}, nil
	}
	p := ready(t, h, fake(t, "plain"))
	got := mustRun(t, p, "fake_sample", "{}").Output
	for _, want := range []string{`"text":"hi"`, `"model":"p/m"`, `"stopReason":"endTurn"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the server got %s, want %s in it", got, want)
		}
	}
	if asked.SessionID != "ses_1" || asked.System != "be brief" || asked.MaxTokens != 10 || len(asked.Messages) != 1 {
		t.Errorf("the host was asked for %+v", asked)
	}
	if asked.Temperature != nil {
		t.Errorf("the host was asked for the temperature %v", *asked.Temperature)
	}
	mustRun(t, p, "fake_sample", `{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}],"maxTokens":10,"temperature":0}`)
	if asked.Temperature == nil || *asked.Temperature != 0 {
		t.Errorf("the host was asked for the temperature %v, want 0", asked.Temperature)
	}
	h.sample = func(sdk.SampleRequest) (*sdk.SampleResult, error) {
		return nil, &sdk.Refusal{Reason: "not now", By: "user"}
	}
	if got := mustRun(t, p, "fake_sample", "{}").Output; !strings.Contains(got, "not now") {
		t.Errorf("the server got %s, want the refusal", got)
	}
}

// A server that asks again and again during a call gets an error.
func TestEndlessRequests(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	var asked atomic.Int32
	h.sample = func(sdk.SampleRequest) (*sdk.SampleResult, error) {
		asked.Add(1)
		return &sdk.SampleResult{Text: "hi"}, nil
	}
	p := ready(t, h, fake(t, "plain"))
	for range 2 { // the next call may ask again
		got := mustRun(t, p, "fake_sample", `{"times":150,"messages":[{"role":"user","content":{"type":"text","text":"hello"}}],"maxTokens":10}`).Output
		if n := asked.Swap(0); n != 100 || !strings.Contains(got, "more than 100 requests") {
			t.Errorf("asked %d times, then the server got %s", n, got)
		}
	}
}

// TestSamplingWithTools: a server that offers tools to the model, which tenon does not declare, gets an error as the protocol requires.
func TestSamplingWithTools(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.sample = func(sdk.SampleRequest) (*sdk.SampleResult, error) {
		t.Error("the model was asked without the tools")
		return &sdk.SampleResult{}, nil
	}
	p := ready(t, h, fake(t, "plain"))
	const messages = `"messages":[{"role":"user","content":{"type":"text","text":"hello"}}],"maxTokens":10`
	for _, field := range []string{`"tools":[{"name":"weather","inputSchema":{"type":"object"}}]`, `"toolChoice":{"mode":"required"}`} {
		if got := mustRun(t, p, "fake_sample", `{`+field+`,`+messages+`}`).Output; !strings.Contains(got, "does not support tools") {
			t.Errorf("%s: the server got %s, want an error", field, got)
		}
	}
}

func TestRoots(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.project.Worktree = "/home/me/my project"
	if got := mustRun(t, ready(t, h, fake(t, "plain")), "fake_roots", "{}").Output; !strings.Contains(got, `"uri":"file:///home/me/my%20project"`) {
		t.Errorf("the server got %s", got)
	}
}

const orderForm = `{"message":"Your order?","requestedSchema":{"type":"object","required":["size","count"],"properties":{
	"size":{"type":"string","enum":["s","l"],"enumNames":["Small","Large"]},"count":{"type":"integer","minimum":1,"maximum":9},
	"gift":{"type":"boolean","title":"A gift?"},"mail":{"type":"string","format":"email"},
	"extras":{"type":"array","items":{"anyOf":[{"const":"a","title":"Apple"},{"const":"b","title":"Bean"}]}}}}}`

const defaultForm = `{"message":"You?","requestedSchema":{"type":"object","required":["age"],"properties":{
	"name":{"type":"string","default":"Ann"},"age":{"type":"integer","default":30},"score":{"type":"number","default":9.5},
	"more":{"type":"boolean","default":true},"color":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}],"default":"r"}}}}`

func TestElicitation(t *testing.T) {
	t.Parallel()
	p := ready(t, newTestHost(t), fake(t, "plain"))
	answer := func(list ...[]string) func([]sdk.Question) ([][]string, error) {
		return func([]sdk.Question) ([][]string, error) { return slices.Clip(append([][]string{}, list...)), nil }
	}
	refuse := func(err error) func([]sdk.Question) ([][]string, error) {
		return func([]sdk.Question) ([][]string, error) { return nil, err }
	}
	tests := map[string]struct {
		form    string
		answers func([]sdk.Question) ([][]string, error)
		want    string
	}{
		"filled": {orderForm, answer([]string{"Large"}, []string{"3"}, []string{"Yes"}, []string{"a@b.c"}, []string{"Apple", "Bean"}),
			`{"action":"accept","content":{"count":3,"extras":["a","b"],"gift":true,"mail":"a@b.c","size":"l"}}`},
		"only what must": {orderForm, answer([]string{"Small"}, []string{"3"}, nil, nil, nil), `{"action":"accept","content":{"count":3,"size":"s"}}`},
		"never right":    {orderForm, answer([]string{"Small"}, []string{"99"}, nil, nil, nil), `{"action":"decline"}`},
		"no user there":  {orderForm, refuse(sdk.ErrHeadless), `{"action":"decline"}`},
		"dismissed":      {orderForm, refuse(&sdk.Refusal{Reason: "the question was dismissed"}), `{"action":"cancel"}`},
		"failure":        {orderForm, refuse(errors.New("the screen broke")), "the screen broke"},
		"confirmed":      {`{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}`, answer([]string{"Yes"}), `{"action":"accept","content":{}}`},
		"not confirmed":  {`{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}`, answer([]string{"No"}), `{"action":"decline"}`},
		"defaults": {defaultForm, answer(nil, nil, nil, []string{}, []string{"Green"}),
			`{"action":"accept","content":{"name":"Ann","age":30,"score":9.5,"more":true,"color":"g"}}`},
		"a large default": {`{"message":"?","requestedSchema":{"properties":{"n":{"type":"integer","default":2000000,"maximum":3000000}}}}`,
			func(q []sdk.Question) ([][]string, error) { return [][]string{q[0].Default}, nil }, `{"action":"accept","content":{"n":2000000}}`},
		"left empty":             {defaultForm, answer([]string{""}, nil, []string{""}, []string{}, nil), `{"action":"accept","content":{"age":30,"more":true,"color":"r"}}`},
		"declined":               {orderForm, answer(), `{"action":"decline"}`},
		"an address, opened":     {`{"mode":"url","message":"Go","elicitationId":"1","url":"https://a.example/x"}`, answer([]string{"Yes"}), `{"action":"accept"}`},
		"an address, not opened": {`{"mode":"url","message":"Go","elicitationId":"1","url":"https://a.example/x"}`, answer([]string{"No"}), `{"action":"decline"}`},
		"a file":                 {`{"mode":"url","message":"Go","elicitationId":"1","url":"file:///etc/passwd"}`, answer([]string{"Yes"}), "want an absolute http"},
		"a disguised address":    {`{"mode":"url","message":"Go","elicitationId":"1","url":"https://good.example@evil.example"}`, answer([]string{"Yes"}), "without a user"},
		"a pattern": {
			`{"message":"?","requestedSchema":{"properties":{"a":{"type":"string","pattern":"^[a-z]+$","maxLength":3}}}}`,
			func(q []sdk.Question) ([][]string, error) {
				switch problem := q[0].Form.Problem; {
				case problem == "":
					return [][]string{{"A"}}, nil
				case strings.Contains(problem, `"A" does not match`):
					return [][]string{{"abcd"}}, nil
				}
				return [][]string{{"ab"}}, nil
			}, `{"action":"accept","content":{"a":"ab"}}`,
		},
		"a nested object": {`{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"object"}}}}`, answer(), "unsupported type"},
	}
	for name, test := range tests { // one after the other: the server's questions belong to the session's latest call
		t.Run(name, func(t *testing.T) {
			r, err := runOn(t.Context(), t, p, "fake_ask", test.form, &toolHost{answers: test.answers})
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if json.Unmarshal([]byte(test.want), &want) != nil {
				if !strings.Contains(r.Output, test.want) {
					t.Errorf("the server got %s, want %q in it", r.Output, test.want)
				}
				return
			}
			if err := json.Unmarshal([]byte(r.Output), &got); err != nil {
				t.Fatalf("%s: %v", r.Output, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the server got (-want +got):\n%s", diff)
			}
		})
	}
}

// A question is withdrawn when the server cancels it, and when the call that it belongs to ends without the answer.
func TestQuestionIsWithdrawn(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"cancel", "end"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var withdrawn atomic.Bool
			h := &toolHost{gone: func() {
				withdrawn.Store(ctx.Err() == nil) // by the server, not by the end of the test's time
				cancel()                          // the server does not end the call
			}}
			_, _ = runOn(ctx, t, ready(t, newTestHost(t), fake(t, "plain")), "fake_ask", `{"text":"`+how+`"}`, h)
			eventually(t, "the end of the question", withdrawn.Load)
		})
	}
}

// A question that may belong to the calls of two sessions reaches neither user.
func TestQuestionOfNoSession(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	p := ready(t, newTestHost(t), fake(t, "plain", "COUNT="+record))
	ctx, cancel := context.WithCancel(t.Context())
	other, never := toolCall(`{"text":"waits"}`), find(t, p, "fake_never")
	other.SessionID = "ses_2"
	var running sync.WaitGroup
	running.Go(func() { _, _ = never.Execute(ctx, other) }) // until cancel
	eventually(t, "the other call", func() bool { return len(linesWith(t, record, "waits")) == 1 })
	h := &toolHost{answers: func([]sdk.Question) ([][]string, error) { return [][]string{{"Yes"}}, nil }}
	r, err := runOn(t.Context(), t, p, "fake_ask", `{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}`, h)
	if err != nil || !strings.Contains(r.Output, "the request belongs to no tool call") {
		t.Errorf("the server got %+v, %v", r, err)
	}
	cancel()
	running.Wait()
}

// The questions say who asks, and what may be answered.
func TestQuestions(t *testing.T) {
	t.Parallel()
	var asked []sdk.Question
	h := &toolHost{answers: func(q []sdk.Question) ([][]string, error) {
		asked = q
		return nil, sdk.ErrHeadless
	}}
	if _, err := runOn(t.Context(), t, ready(t, newTestHost(t), fake(t, "plain")), "fake_ask", orderForm, h); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 5 {
		t.Fatalf("%d questions, want 5", len(asked))
	}
	size := asked[0]
	if !strings.Contains(size.Question, "MCP server fake: Your order?") || len(size.Options) != 2 || size.Options[1].Label != "Large" || *size.Custom {
		t.Errorf("the question for the size is %+v", size)
	}
	if count := asked[1]; len(count.Options) != 0 || !*count.Custom {
		t.Errorf("the question for the count is %+v", count)
	}
	if extras := asked[4]; !extras.Multiple || !extras.Optional || size.Optional {
		t.Errorf("the question for the extras is %+v", extras)
	}
	if count := asked[1].Form; count == nil || count.Message != "MCP server fake: Your order?" || count.Label != "count" || count.Note != "an integer from 1 up to 9" {
		t.Errorf("the field for the count is %+v", count)
	}
	if _, err := runOn(t.Context(), t, ready(t, newTestHost(t), fake(t, "plain")), "fake_ask", defaultForm, h); err != nil {
		t.Fatal(err)
	}
	var defaults []string
	for _, q := range asked {
		defaults = append(defaults, strings.Join(q.Default, "+"))
	}
	if want := []string{"Ann", "30", "9.5", "Yes", "Red"}; !slices.Equal(defaults, want) {
		t.Errorf("defaults %q, want %q", defaults, want)
	}
}

// Of a form with invalid answers, only those fields are asked again, each with its problem and the last answer.
func TestFormIsCorrected(t *testing.T) {
	t.Parallel()
	var again []sdk.Question
	h := &toolHost{answers: func(q []sdk.Question) ([][]string, error) {
		if len(q) == 5 {
			return [][]string{nil, {"ten"}, nil, {"no address"}, {"Apple"}}, nil
		}
		again = q
		return [][]string{{"Small"}, {"3"}, {"a@b.c"}}, nil
	}}
	r, err := runOn(t.Context(), t, ready(t, newTestHost(t), fake(t, "plain")), "fake_ask", orderForm, h)
	const want = `{"count":3,"extras":["a"],"mail":"a@b.c","size":"s"}`
	if err != nil || !strings.Contains(r.Output, want) {
		t.Fatalf("the server got %+v, %v, want %s", r, err, want)
	}
	var fields []string
	for _, q := range again {
		fields = append(fields, fmt.Sprint(q.Form.Label, q.Form.Answer, q.Form.Problem))
		if !strings.Contains(q.Question, q.Form.Problem) || !strings.Contains(q.Question, q.Form.Note) {
			t.Errorf("the question %q lacks the note %q or the problem", q.Question, q.Form.Note)
		}
	}
	if want := []string{`size[]a value is required`, `count[ten]"ten" is not a number`, `mail[no address]"no address" is not a valid email`}; !slices.Equal(fields, want) {
		t.Errorf("asked again: %q, want %q", fields, want)
	}
}

// A server that requires a visit to an address before a call (-32042) gets the call again once the user has opened the address.
func TestVisitBeforeACall(t *testing.T) {
	t.Parallel()
	p := ready(t, newTestHost(t), fake(t, "plain", "COUNT="+filepath.Join(t.TempDir(), "count")))
	for answer, want := range map[string]string{"Yes": "open", "No": "requires a visit to https://a.example/x first"} {
		asked := ""
		h := &toolHost{answers: func(q []sdk.Question) ([][]string, error) {
			asked = q[0].Question
			return [][]string{{answer}}, nil
		}}
		r, err := runOn(t.Context(), t, p, "fake_gate", `{"text":"`+answer+`"}`, h)
		if err != nil {
			r = &sdk.ToolResult{Output: err.Error()}
		}
		if !strings.Contains(r.Output, want) || (err == nil) != (answer == "Yes") {
			t.Errorf("%s: result %q, %v, want %q", answer, r.Output, err, want)
		}
		if !strings.Contains(asked, "https://a.example/x") {
			t.Errorf("the question is %q, want the address in it", asked)
		}
	}
}

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// TestToolCallsRunInParallelAndKeepTheirOrder has two calls that can only end together.
func TestToolCallsRunInParallelAndKeepTheirOrder(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	meet := func(id string) *tool {
		return &tool{id: id, run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
			both.Done()
			both.Wait()
			return &sdk.ToolResult{Output: id}, nil
		}}
	}
	m := newModel(t, calls(toolCall{tool: "one", args: `{}`}, toolCall{tool: "two", args: `{}`}), say("both"))
	b := base(m)
	b.tools = []sdk.Tool{meet("one"), meet("two")}
	k := start(t, nil, b)
	_, answer := k.prompt("go")
	if got := textOf(answer); got != "both" {
		t.Errorf("answer = %q, want %q", got, "both")
	}
	results := m.of(sdk.PurposeTurn)[1].Messages[2]
	var got []string
	for _, c := range results.Content {
		got = append(got, c.Text)
	}
	if want := []string{"one", "two"}; !slices.Equal(got, want) {
		t.Errorf("results = %v, want %v", got, want)
	}
}

// TestCallCutByTheLimit tells the model why its arguments have no end: it would repeat the call.
func TestCallCutByTheLimit(t *testing.T) {
	t.Parallel()
	cut := call("pick", `{"n": `)
	cut.finish = sdk.FinishLength
	m := newModel(t, cut, say("done"))
	b := base(m)
	b.tools = []sdk.Tool{&tool{id: "pick"}}
	k := start(t, nil, b)
	k.prompt("go")
	if result := m.of(sdk.PurposeTurn)[1].Messages[2].Content[0].Text; !strings.Contains(result, "cut off by the output limit") {
		t.Errorf("the result of the call: %s", result)
	}
}

// TestBadCallsGoBackToTheModel has a call for each way to get one wrong; the model hears of each and goes on.
func TestBadCallsGoBackToTheModel(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		call toolCall
		want string
	}{
		"unknown tool":      {toolCall{tool: "nothing", args: `{}`}, `tool "nothing" not found; the tools are: pick`},
		"malformed JSON":    {toolCall{tool: "pick", args: `{"n": `}, "not valid JSON"},
		"not an object":     {toolCall{tool: "pick", args: `[1]`}, "want an object"},
		"text":              {toolCall{tool: "pick", args: `"{\"n\":13}"`}, "unlucky"},
		"null":              {toolCall{tool: "pick", args: `null`}, "want an object"},
		"a name twice":      {toolCall{tool: "pick", args: `{"n":1,"n":2}`}, `are refused: duplicate name "n"`},
		"nested too deep":   {toolCall{tool: "pick", args: `{"n":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`}, "nested deeper than 256 levels"},
		"too many values":   {toolCall{tool: "pick", args: `{"n":[` + strings.Repeat("0,", 200_000) + `0]}`}, "more than 131072 values"},
		"schema: missing":   {toolCall{tool: "pick", args: `{}`}, "do not match its schema"},
		"schema: type":      {toolCall{tool: "pick", args: `{"n":"one"}`}, "do not match its schema"},
		"schema: unknown":   {toolCall{tool: "pick", args: `{"m":2}`}, "its parameters: n (required)"},
		"the tool fails":    {toolCall{tool: "pick", args: `{"n":13}`}, "unlucky"},
		"the tool panics":   {toolCall{tool: "pick", args: `{"n":666}`}, "panicked: number of the beast"},
		"no result at all":  {toolCall{tool: "pick", args: `{"n":0}`}, "returned nothing"},
		"arguments missing": {toolCall{tool: "pick", args: ``}, "do not match its schema"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pick := &tool{id: "pick", schema: `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`,
				run: func(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
					switch string(call.Args) {
					case `{"n":13}`:
						return nil, errors.New("unlucky")
					case `{"n":666}`:
						panic("number of the beast")
					case `{"n":0}`:
						return nil, nil
					}
					return &sdk.ToolResult{Output: "picked"}, nil
				}}
			m := newModel(t, calls(c.call), say("mended"))
			b := base(m)
			b.tools = []sdk.Tool{pick}
			k := start(t, nil, b)
			id, answer := k.prompt("go")
			if got := textOf(answer); got != "mended" {
				t.Errorf("answer = %q, want %q", got, "mended")
			}
			part := k.toolParts(id)[0]
			if part.State.Status != sdk.ToolError || !strings.Contains(part.State.Error, c.want) {
				t.Errorf("state = %s %q, want error with %q", part.State.Status, part.State.Error, c.want)
			}
			last := m.of(sdk.PurposeTurn)[1].Messages
			if result := last[len(last)-1].Content[0]; !result.IsError || !strings.Contains(result.Text, c.want) {
				t.Errorf("the model got %+v, want an error with %q", result, c.want)
			}
		})
	}
}

func TestStepLimitWrapsUp(t *testing.T) {
	t.Parallel()
	m := newModel(t, call("echo", `{"n":1}`), call("echo", `{"n":2}`), answer{text: "so far", calls: []toolCall{{tool: "echo", args: `{"n":3}`}}})
	b := base(m)
	b.tools = []sdk.Tool{echo("echo")}
	b.agents[0].Steps = 3
	k := start(t, nil, b)
	id, answer := k.prompt("go")
	if got := textOf(answer); got != "so far" {
		t.Errorf("answer = %q, want %q", got, "so far")
	}
	last := m.of(sdk.PurposeTurn)[2]
	if last.ToolChoice != sdk.ToolChoiceNone || !strings.Contains(last.Messages[len(last.Messages)-1].Content[0].Text, "last step") {
		t.Errorf("last request: tool choice %q, last message %+v; want none and the wrap-up", last.ToolChoice, last.Messages[len(last.Messages)-1])
	}
	if part := k.toolParts(id)[2]; part.State.Status != sdk.ToolError {
		t.Errorf("the call of the last step is %s, want %s", part.State.Status, sdk.ToolError)
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	fail := func(e sdk.ProviderError) answer { e.ProviderID = "test"; return answer{err: &e} }
	cases := map[string]struct {
		script  []answer
		want    string // the answer, or
		wantErr string // the name of the error
		tries   int
	}{
		"429 then fine":          {[]answer{fail(sdk.ProviderError{StatusCode: 429, Headers: map[string]string{"retry-after-ms": "1"}}), say("ok")}, "ok", "", 2},
		"five failures pass":     {[]answer{fail(sdk.ProviderError{StatusCode: 500}), fail(sdk.ProviderError{StatusCode: 502}), fail(sdk.ProviderError{StatusCode: 503}), fail(sdk.ProviderError{StatusCode: 504}), fail(sdk.ProviderError{StatusCode: 529}), say("ok")}, "ok", "", 6},
		"the sixth is final":     {slices.Repeat([]answer{fail(sdk.ProviderError{StatusCode: 500})}, 6), "", sdk.ErrorAPI, 6},
		"a bad request is not":   {[]answer{fail(sdk.ProviderError{StatusCode: 400, Message: "bad"})}, "", sdk.ErrorAPI, 1},
		"nor is a bad key":       {[]answer{fail(sdk.ProviderError{StatusCode: 401})}, "", sdk.ErrorProviderAuth, 1},
		"nor an endless wait":    {[]answer{fail(sdk.ProviderError{StatusCode: 429, Headers: map[string]string{"retry-after": "7200"}})}, "", sdk.ErrorAPI, 1},
		"no connection":          {[]answer{fail(sdk.ProviderError{Err: errors.New("refused")}), say("ok")}, "ok", "", 2},
		"a silent server, twice": {slices.Repeat([]answer{fail(sdk.ProviderError{Err: os.ErrDeadlineExceeded})}, 2), "", sdk.ErrorAPI, 2},
		"a cut stream":           {[]answer{{text: "hal", calls: []toolCall{{tool: "echo", args: `{"a`}}, err: &sdk.ProviderError{ProviderID: "test", Cut: true}}, say("whole")}, "whole", "", 2},
		"an empty answer, once":  {[]answer{{}, say("ok")}, "ok", "", 2},
		"a second one is final":  {[]answer{{}, {}}, "", "", 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, c.script...)
			b := base(m)
			b.tools = []sdk.Tool{echo("echo")}
			k := start(t, nil, b)
			id := k.session()
			got, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
			var te *host.TurnError
			switch {
			case c.wantErr == "" && err != nil:
				t.Fatal(err)
			case c.wantErr == "" && textOf(got) != c.want:
				t.Errorf("answer = %q, want %q", textOf(got), c.want)
			case c.wantErr != "" && (!errors.As(err, &te) || te.Named.Name != c.wantErr):
				t.Errorf("error = %v, want %s", err, c.wantErr)
			}
			if n := len(m.of(sdk.PurposeTurn)); n != c.tries {
				t.Errorf("%d requests, want %d", n, c.tries)
			}
			noOpenParts(t, k, id)
		})
	}
}

// TestCutStreamKeepsWhatCame checks that a broken answer stays for the user and is not sent to the model.
func TestCutStreamKeepsWhatCame(t *testing.T) {
	t.Parallel()
	m := newModel(t,
		answer{think: "hm", text: "half of it", calls: []toolCall{{tool: "echo", args: `{"a`}}, err: &sdk.ProviderError{ProviderID: "test", Cut: true}},
		call("echo", `{}`), say("done"))
	b := base(m)
	b.tools = []sdk.Tool{echo("echo")}
	k := start(t, nil, b)
	id, _ := k.prompt("go")
	var types []string
	for _, p := range k.messages(id)[1].Parts {
		types = append(types, p.Type())
	}
	want := []string{"step-start", "reasoning", "text", "tool", "retry", "tool", "step-finish"}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("parts of the step (-want +got):\n%s", diff)
	}
	for i, req := range m.of(sdk.PurposeTurn)[1:] {
		data, err := json.Marshal(req.Messages)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "half") || strings.Contains(string(data), "hm") {
			t.Errorf("request %d has the broken answer: %s", i+2, data)
		}
	}
}

func TestAbort(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	running := make(chan struct{}, 1)
	hang := &tool{id: "hang", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		call.Host.Progress("waiting", sdk.Object{"output": "so far"})
		running <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	cases := map[string]struct {
		script []answer
		ready  func(begun chan struct{}) <-chan struct{}
	}{
		"in the stream": {[]answer{{text: "some text", calls: []toolCall{{tool: "a", args: `{"n":1}`}, {tool: "b", args: `{"n":`}}, hold: hold}}, func(b chan struct{}) <-chan struct{} { return b }},
		"in a wait":     {[]answer{{err: &sdk.ProviderError{ProviderID: "test", StatusCode: 429, Headers: map[string]string{"retry-after": "60"}}}}, func(b chan struct{}) <-chan struct{} { return b }},
		"in a tool":     {[]answer{call("hang", `{}`)}, func(chan struct{}) <-chan struct{} { return running }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			begun := make(chan struct{})
			c.script[0].begun = begun
			m := newModel(t, c.script...)
			b := base(m)
			b.tools = []sdk.Tool{hang}
			k := start(t, nil, b)
			id := k.session()
			go func() {
				<-c.ready(begun)
				k.Abort(id)
			}()
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
			var te *host.TurnError
			if !errors.As(err, &te) || te.Named.Name != sdk.ErrorAborted {
				t.Fatalf("Prompt = %v, want %s", err, sdk.ErrorAborted)
			}
			noOpenParts(t, k, id)
			messages := k.messages(id)
			last := messages[len(messages)-1].Info.(*sdk.AssistantMessage)
			if last.Error == nil || last.Error.Name != sdk.ErrorAborted || last.Time.Completed == 0 {
				t.Errorf("last message: error %v, completed %d; want it aborted and closed", last.Error, last.Time.Completed)
			}
			if name == "in the stream" && textOf(&messages[1]) != "some text" {
				t.Errorf("text = %q, want what was streamed", textOf(&messages[1]))
			}
			if name == "in the stream" {
				input := map[string]string{}
				for p := range store.PartsOf[*sdk.ToolPart](messages...) {
					input[p.Tool] = string(p.State.Input)
				}
				if diff := cmp.Diff(map[string]string{"a": `{"n":1}`, "b": "{}"}, input); diff != "" {
					t.Errorf("arguments of the calls (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// noOpenParts checks that nothing of the session is open and that every call has a result.
func noOpenParts(t *testing.T, k *kit, session string) {
	t.Helper()
	for _, m := range k.messages(session) {
		if a, ok := m.Info.(*sdk.AssistantMessage); ok && a.Time.Completed == 0 {
			t.Errorf("message %s is open", a.ID)
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case *sdk.TextPart:
				if p.Time != nil && p.Time.End == 0 {
					t.Errorf("text part %q is open", p.Text)
				}
			case *sdk.ToolPart:
				if p.State.Open() {
					t.Errorf("call of %s is %s", p.Tool, p.State.Status)
				}
			}
		}
	}
}

// TestQueuedPromptSurvivesAbort sends a prompt into a busy session and aborts the turn: the prompt is
// answered all the same.
func TestQueuedPromptSurvivesAbort(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	hold := make(chan struct{})
	defer close(hold)
	m := newModel(t, answer{text: "never ends", hold: hold, begun: begun}, say("second"))
	k := start(t, nil, base(m))
	id := k.session()
	first := make(chan error, 1)
	go func() {
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "one"})
		first <- err
	}()
	<-begun
	second := make(chan *sdk.MessageWithParts, 1)
	go func() {
		m, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "two"})
		if err != nil {
			t.Error(err)
		}
		second <- m
	}()
	for {
		waiting, err := k.store.Prompts(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(waiting) == 1 {
			break
		}
	}
	k.Abort(id)
	if err := <-first; err == nil {
		t.Error("the aborted prompt has an answer")
	}
	if got := textOf(<-second); got != "second" {
		t.Errorf("the queued prompt was answered %q, want %q", got, "second")
	}
	if waiting, _ := k.store.Prompts(t.Context(), id); len(waiting) != 0 {
		t.Errorf("%d prompts still wait", len(waiting))
	}
}

func TestStructuredOutput(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	format := &sdk.OutputFormat{Type: sdk.FormatJSONSchema, Schema: schema}
	t.Run("given after a reminder and a mistake", func(t *testing.T) {
		t.Parallel()
		m := newModel(t, say("it is 4"), call("StructuredOutput", `{"n":"4"}`), call("StructuredOutput", `{"n":4}`))
		k := start(t, nil, base(m))
		got, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Text: "2+2", Format: format})
		if err != nil {
			t.Fatal(err)
		}
		if s := string(got.Info.(*sdk.AssistantMessage).Structured); s != `{"n":4}` {
			t.Errorf("structured = %s", s)
		}
		for _, r := range m.of(sdk.PurposeTurn) {
			if r.ToolChoice != sdk.ToolChoiceRequired {
				t.Errorf("tool choice = %q, want required", r.ToolChoice)
			}
		}
	})
	t.Run("in the last step", func(t *testing.T) {
		t.Parallel()
		for text, last := range map[string]answer{`{"n":4}`: call("StructuredOutput", `{"n":4}`), "": say("it is 4")} {
			m := newModel(t, call("echo", `{"n":1}`), last)
			b := base(m)
			b.tools = []sdk.Tool{echo("echo")}
			b.agents[0].Steps = 2
			k := start(t, nil, b)
			got, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Text: "2+2", Format: format})
			var te *host.TurnError
			switch {
			case text == "" && (!errors.As(err, &te) || te.Named.Name != sdk.ErrorStructuredOutput):
				t.Errorf("Prompt = %v after plain text, want %s", err, sdk.ErrorStructuredOutput)
			case text != "" && (err != nil || string(got.Info.(*sdk.AssistantMessage).Structured) != text):
				t.Errorf("Prompt = %+v, %v, want %s", got.Info, err, text)
			}
			if r := m.last(sdk.PurposeTurn); len(r.Tools) != 1 || r.ToolChoice != sdk.ToolChoiceRequired {
				t.Errorf("tools %+v, choice %q; want only the one for structured output, required", r.Tools, r.ToolChoice)
			}
		}
	})
	t.Run("never given", func(t *testing.T) {
		t.Parallel()
		k := start(t, nil, base(newModel(t, say("no"), say("no"), say("no"))))
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Text: "2+2", Format: format})
		var te *host.TurnError
		if !errors.As(err, &te) || te.Named.Name != sdk.ErrorStructuredOutput || te.Named.Data.Retries != 2 {
			t.Errorf("Prompt = %v, want %s after 2 reminders", err, sdk.ErrorStructuredOutput)
		}
	})
}

func TestTitleAndCost(t *testing.T) {
	t.Parallel()
	m := newModel(t, answer{text: "hi", tokens: sdk.Tokens{Input: 1000, Output: 200, Reasoning: 50, Cache: sdk.CacheCount{Read: 4000}}}).
		on(sdk.PurposeTitle, say("<think>hm</think>\n\n\"A fine title\"\nmore"))
	b := base(m)
	b.cost = sdk.ModelCost{Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000}
	k := start(t, nil, b)
	id, answer := k.prompt("hello")
	k.Close(t.Context())
	s, _, err := k.store.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if s.Title != "A fine title" {
		t.Errorf("title = %q", s.Title)
	}
	if want := "0.00795"; answer.Info.(*sdk.AssistantMessage).Cost.String() != want || s.Cost.String() != want {
		t.Errorf("cost of message %s and session %s, want %s", answer.Info.(*sdk.AssistantMessage).Cost, s.Cost, want)
	}
}

// TestLargeOutputIsStoredOnce checks the preview and that a tool can read the rest.
func TestLargeOutputIsStoredOnce(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("a line of output\n", 10_000)
	var path string
	read := &tool{id: "readback", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		content, err := call.Host.(sdk.OutputReader).Output(ctx, path)
		return &sdk.ToolResult{Output: fmt.Sprint(string(content) == big)}, err
	}}
	large := &tool{id: "large", run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
		return &sdk.ToolResult{Output: big}, nil
	}}
	m := newModel(t, call("large", `{}`), say("ok"), call("readback", `{}`), say("ok"))
	b := base(m)
	b.tools = []sdk.Tool{large, read}
	k := start(t, nil, b)
	id, _ := k.prompt("go")
	part := k.toolParts(id)[0]
	path, _ = part.State.Metadata["outputPath"].(string)
	if part.State.Metadata["truncated"] != true || path == "" || len(part.State.Output) > 52_000 || !strings.Contains(part.State.Output, path) {
		t.Fatalf("metadata %v, %d bytes of output", part.State.Metadata, len(part.State.Output))
	}
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "read it"}); err != nil {
		t.Fatal(err)
	}
	if got := k.toolParts(id)[1].State.Output; got != "true" {
		t.Errorf("the stored output read back whole: %s", got)
	}
}

func TestTurnStopGoesOnAndIsBounded(t *testing.T) {
	t.Parallel()
	m := newModel(t, slices.Repeat([]answer{say("done?")}, 9)...)
	again := sdk.OnTurnStop(func(_ context.Context, in *sdk.TurnStopInput) (sdk.StopDecision, error) {
		return sdk.StopDecision{Continue: true, Message: fmt.Sprintf("again %d", in.Continued)}, nil
	})
	k := start(t, nil, base(m), &plugin{name: "nag", hooks: []sdk.Hook{again}})
	k.prompt("go")
	requests := m.of(sdk.PurposeTurn)
	if len(requests) != 9 {
		t.Fatalf("%d requests, want the first and 8 more", len(requests))
	}
	last := requests[8].Messages
	if got := last[len(last)-1].Content[0].Text; got != "again 7" {
		t.Errorf("the last message is %q, want %q", got, "again 7")
	}
}

// TestTurnStopAfterNote: a prompt without a reply that arrives during the last answer leaves the end of the turn to the hooks.
func TestTurnStopAfterNote(t *testing.T) {
	t.Parallel()
	last := answer{text: "done?", begun: make(chan struct{}), hold: make(chan struct{})}
	m := newModel(t, last, say("done"))
	asked := 0
	once := sdk.OnTurnStop(func(_ context.Context, in *sdk.TurnStopInput) (sdk.StopDecision, error) {
		asked++
		return sdk.StopDecision{Continue: in.Continued == 0, Message: "again"}, nil
	})
	k := start(t, nil, base(m), &plugin{name: "nag", hooks: []sdk.Hook{once}})
	id := k.session()
	var waits []func(context.Context) (*sdk.MessageWithParts, error)
	for _, in := range []host.PromptInput{{SessionID: id, Text: "go"}, {SessionID: id, Text: "a note", NoReply: true}} {
		wait, err := k.Submit(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		waits = append(waits, wait)
		<-last.begun
	}
	close(last.hold)
	for _, wait := range waits {
		if _, err := wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if requests := m.of(sdk.PurposeTurn); asked != 2 || len(requests) != 2 || !strings.Contains(whole(requests[1]), "a note") {
		t.Errorf("the hook was asked %d times, the model %d times; want 2, with the note", asked, len(requests))
	}
}

// TestNothingIsToldBeforeItIsStored reads the store at each event of a message or part: it has to be there.
func TestNothingIsToldBeforeItIsStored(t *testing.T) {
	t.Parallel()
	m := newModel(t, answer{text: strings.Repeat("word ", 200), calls: []toolCall{{tool: "echo", args: `{"a":"b"}`}}}, say("done"))
	b := base(m)
	b.tools = []sdk.Tool{echo("echo")}
	k := start(t, nil, b)
	id := k.session()
	sub := k.Subscribe(16, true)
	checked := make(chan int, 1)
	streamed := map[string]string{}
	go func() {
		n := 0
		for e := range sub.Events() {
			switch p := e.Properties.(type) {
			case *sdk.PartDelta:
				streamed[p.PartID] += p.Delta
				if stored := storedText(t, k, id, p.PartID); !strings.HasPrefix(stored, streamed[p.PartID]) {
					t.Errorf("told %q, stored %q", streamed[p.PartID], stored)
				}
				n++
			case *sdk.MessageInfo:
				list, err := k.store.Messages(context.WithoutCancel(t.Context()), id, store.Page{From: p.Info.Head().ID})
				if err != nil || len(list) == 0 {
					t.Errorf("told of message %s, which is not stored (%v)", p.Info.Head().ID, err)
				}
			case *sdk.SessionRef:
				sub.Close()
			}
			if e.Type == sdk.EventSessionIdle {
				break
			}
		}
		checked <- n
	}()
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if n := <-checked; n == 0 {
		t.Error("no text was streamed")
	}
}

func storedText(t *testing.T, k *kit, session, part string) string {
	t.Helper()
	list, err := k.store.Messages(context.WithoutCancel(t.Context()), session, store.Page{})
	if err != nil {
		t.Error(err)
	}
	for _, m := range list {
		for _, p := range m.Parts {
			if p.Head().ID != part {
				continue
			}
			switch p := p.(type) {
			case *sdk.TextPart:
				return p.Text
			case *sdk.ReasoningPart:
				return p.Text
			case *sdk.ToolPart:
				return p.State.Raw + string(p.State.Input)
			}
		}
	}
	return ""
}

// TestRepeatedCallIDs: some servers number the calls of each answer from 0. Others refuse a conversation in which an ID repeats.
func TestRepeatedCallIDs(t *testing.T) {
	t.Parallel()
	n := 0
	same := func() toolCall { n++; return toolCall{"echo:0", "echo", fmt.Sprintf(`{"n":%d}`, n)} }
	m := newModel(t, calls(same()), calls(same()), say("done"), calls(same()), say("done"))
	b := base(m)
	b.tools = []sdk.Tool{echo("echo")}
	k := start(t, nil, b)
	id, _ := k.prompt("go")
	k.again(id, "again")
	requests := m.of(sdk.PurposeTurn)
	seen := map[string]bool{}
	var called []string
	for _, message := range requests[len(requests)-1].Messages {
		for _, c := range message.Content {
			switch {
			case c.Type == sdk.ContentToolCall && seen[c.CallID]:
				t.Errorf("the ID %s repeats", c.CallID)
			case c.Type == sdk.ContentToolCall:
				seen[c.CallID] = true
				called = append(called, c.CallID)
			case c.Type == sdk.ContentToolResult:
				if len(called) == 0 || called[0] != c.CallID {
					t.Fatalf("a result of %s, want those of %v", c.CallID, called)
				}
				called = called[1:]
			}
		}
	}
	if !seen["echo:0"] || len(seen) != 3 {
		t.Errorf("calls %v, want 3, the first with its own ID", seen)
	}
}

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// outline renders an event by its type and what it is about.
func outline(e sdk.Event) string {
	switch p := e.Properties.(type) {
	case *sdk.MessageInfo:
		if a, ok := p.Info.(*sdk.AssistantMessage); ok {
			switch {
			case a.Time.Completed != 0:
				return "message completed"
			case a.Finish != "":
				return "message " + a.Finish
			}
			return "message begun"
		}
		return "message user"
	case *sdk.PartInfo:
		switch p := p.Part.(type) {
		case *sdk.ToolPart:
			return "tool " + string(p.State.Status)
		case *sdk.TextPart:
			return fmt.Sprintf("text %q", p.Text)
		}
		return p.Part.Type()
	case *sdk.PartDelta:
		return "delta " + p.Field
	case *sdk.SessionStatusInfo:
		return "status " + p.Status.Type
	}
	return e.Type
}

// outlines renders the events up to the end of a turn; deltas in a row are one.
func outlines(t *testing.T, sub *host.Subscription) []string {
	t.Helper()
	var out []string
	for _, e := range untilIdle(t, sub) {
		line := outline(e)
		if len(out) > 0 && strings.HasPrefix(line, "delta") && out[len(out)-1] == line {
			continue
		}
		out = append(out, line)
	}
	return out
}

// TestEventsOfAToolTurn checks that events have the order that clients of opencode expect.
func TestEventsOfAToolTurn(t *testing.T) {
	t.Parallel()
	m := newModel(t, answer{text: "let me see", calls: []toolCall{{tool: "touch", args: `{"path":"a"}`}}}, say("done"))
	b := base(m)
	b.tools = []sdk.Tool{touch(false)}
	k := start(t, asking, b)
	id := k.titled()
	sub := k.Subscribe(4096, true)
	answered := make(chan []string, 1)
	go func() { // reads to the end of the turn
		var out []string
		for e := range sub.Events() {
			if r, ok := e.Properties.(*sdk.PermissionRequest); ok {
				if err := k.ReplyPermission(r.ID, sdk.ReplyOnce, ""); err != nil {
					t.Error(err)
				}
			}
			line := outline(e)
			if len(out) == 0 || !strings.HasPrefix(line, "delta") || out[len(out)-1] != line {
				out = append(out, line)
			}
			if e.Type == sdk.EventSessionIdle {
				break
			}
		}
		sub.Close()
		answered <- out
	}()
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"}); err != nil {
		t.Fatal(err)
	}
	want(t, "events", []string{
		"status busy", "message user", `text "go"`, "session.updated",
		"message begun", "step-start", `text ""`, "delta text", `text "let me see"`, "tool pending", "delta raw",
		"step-finish", "message tool-calls", "session.updated", "permission.asked", "permission.replied",
		"tool running", "tool completed", "message completed",
		"message begun", "step-start", `text ""`, "delta text", `text "done"`, "step-finish", "message stop", "session.updated", "message completed",
		"status idle", "session.idle",
	}, <-answered)
}

// TestStatusOfARetry tells clients when the next try is due.
func TestStatusOfARetry(t *testing.T) {
	t.Parallel()
	m := newModel(t, answer{err: &sdk.ProviderError{ProviderID: "test", StatusCode: 503, Message: "overloaded"}}, say("done"))
	k := start(t, nil, base(m))
	id := k.titled()
	sub := k.Subscribe(4096, false)
	k.again(id, "go")
	var got []string
	for _, e := range untilIdle(t, sub) {
		if s, ok := e.Properties.(*sdk.SessionStatusInfo); ok {
			got = append(got, s.Status.Type)
			if r := s.Status; r.Type == sdk.StatusRetry && (r.Attempt != 1 || !strings.Contains(r.Message, "overloaded") || r.Next == 0) {
				t.Errorf("retry status = %+v, want attempt, message and time", r)
			}
		}
	}
	want(t, "statuses", []string{"busy", "retry", "busy", "idle"}, got)
}

// TestErrorComesBeforeIdle checks the end of a failed and of an aborted turn.
func TestErrorComesBeforeIdle(t *testing.T) {
	t.Parallel()
	m := newModel(t, answer{text: "half", err: &sdk.ProviderError{ProviderID: "test", StatusCode: 400, Message: "no"}})
	k := start(t, nil, base(m))
	id := k.titled()
	sub := k.Subscribe(4096, false)
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"}); err == nil {
		t.Fatal("the turn did not fail")
	}
	got := outlines(t, sub)
	want(t, "the last events", []string{"message completed", "session.error", "status idle", "session.idle"}, got[len(got)-4:])
}

// TestEventsDecodeAgain sends every event of a busy session over the wire and back.
func TestEventsDecodeAgain(t *testing.T) {
	t.Parallel()
	m := newModel(t,
		answer{think: "hm", text: "so", calls: []toolCall{{tool: "echo", args: `{"a":"ä\n"}`}, {tool: "none", args: `{`}, ask("helper", "x")}, tokens: sdk.Tokens{Input: 90_000}},
		answer{err: &sdk.ProviderError{ProviderID: "test", StatusCode: 500, Headers: map[string]string{"x": "y"}}}, say("done")).
		on(sdk.PurposeSubtask, say("helped")).on(sdk.PurposeCompaction, say("the summary"))
	b := small(delegating(m))
	k := start(t, nil, b, &plugin{name: "bad", hooks: []sdk.Hook{
		sdk.OnChatSystem(func(context.Context, *sdk.ChatInput, *sdk.ChatSystemValue) error { return errors.New("broken") }),
	}})
	sub := k.Subscribe(1<<14, false)
	k.prompt("go")
	k.close()
	types := map[string]bool{}
	for e := range sub.Events() {
		types[e.Type] = true
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%s: %v", e.Type, err)
		}
		var back sdk.Event
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%s: %v in %s", e.Type, err, data)
		}
		again, err := json.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(data), string(again)); diff != "" {
			t.Errorf("%s changed on its way (-sent +got):\n%s", e.Type, diff)
		}
		if !strings.HasPrefix(e.ID, "evt_") {
			t.Errorf("%s has the identifier %q", e.Type, e.ID)
		}
	}
	for _, typ := range []string{sdk.EventSessionCreated, sdk.EventSessionCompacted, sdk.EventPartDelta, sdk.EventPluginNotice, sdk.EventSessionIdle} {
		if !types[typ] {
			t.Errorf("no event of type %s came", typ)
		}
	}
}

// TestSubscriberThatFallsBehind: such a subscriber misses the oldest events, but a lossless one gets everything.
func TestSubscriberThatFallsBehind(t *testing.T) {
	t.Parallel()
	k := start(t, nil, base(newModel(t, say("a long enough answer"))))
	id := k.titled()
	behind := k.Subscribe(1, false)
	gone := k.Subscribe(0, true)
	gone.Close() // before anything was read: it must delay no other subscriber
	k.again(id, "go")
	if e := <-behind.Events(); e.Type != sdk.EventSessionIdle {
		t.Errorf("the event is %s, want the last one of the turn", e.Type)
	}
	k.close()
	if _, open := <-k.Subscribe(1, false).Events(); open {
		t.Error("a subscription to a closed host is open")
	}
}

// TestManySessionsAtOnce runs turns with tools, subagents and retries in many sessions side by side.
func TestManySessionsAtOnce(t *testing.T) {
	t.Parallel()
	const n = 20
	m := newModel(t)
	var b *plugin
	client := &perSession{model: m, turns: map[string]int{}}
	b = delegating(nil, echo("echo"))
	b.client = client
	k := start(t, nil, b)
	sub := k.Subscribe(64, true)
	idle := make(chan int, 1)
	go func() { // ends with the host
		count := 0
		for e := range sub.Events() {
			if e.Type == sdk.EventSessionIdle {
				count++
			}
		}
		idle <- count
	}()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			s, err := k.CreateSession(t.Context(), host.NewSession{})
			if err != nil {
				t.Error(err)
				return
			}
			for turn := range 2 {
				got, err := k.Prompt(t.Context(), host.PromptInput{SessionID: s.ID, Text: fmt.Sprintf("prompt %d.%d", i, turn)})
				if err != nil {
					t.Errorf("session %d: %v", i, err)
					return
				}
				if want := "done with " + s.ID; textOf(got) != want {
					t.Errorf("session %d: answer %q, want %q", i, textOf(got), want)
				}
			}
			noOpenParts(t, k, s.ID)
			if len(k.toolParts(s.ID)) != 4 {
				t.Errorf("session %d: %d calls, want 4", i, len(k.toolParts(s.ID)))
			}
		})
	}
	all.Wait()
	k.close()
	if got := <-idle; got != n*4 { // the sessions' turns and those of their subagents
		t.Errorf("%d turns ended, want %d", got, n*4)
	}
}

// perSession answers by session: a failure, a step of tools, an answer; subagents answer at once.
type perSession struct {
	*model
	mu    sync.Mutex
	turns map[string]int
}

func (p *perSession) Stream(_ context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	if req.Purpose != sdk.PurposeTurn {
		if err := sink(sdk.StreamEvent{Type: sdk.StreamText, Text: "A title or an answer"}); err != nil {
			return err
		}
		return finish(sink)
	}
	p.mu.Lock()
	step := p.turns[req.SessionID]
	p.turns[req.SessionID]++
	p.mu.Unlock()
	switch step % 3 {
	case 0:
		return &sdk.ProviderError{ProviderID: "test", StatusCode: 503}
	case 1:
		for i, c := range []toolCall{{tool: "echo", args: `{"s":1}`}, ask("helper", "x")} {
			id := fmt.Sprint("call", step, i)
			if err := sink(sdk.StreamEvent{Type: sdk.StreamToolCall, ID: id, CallID: id, Tool: c.tool, Text: c.args}); err != nil {
				return err
			}
		}
		return finish(sink)
	}
	if err := sink(sdk.StreamEvent{Type: sdk.StreamText, Text: "done with " + req.SessionID}); err != nil {
		return err
	}
	return finish(sink)
}

// TestPrune: if configured, old tool output is removed from requests, but stays stored.
func TestPrune(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 50_000) // 12,500 tokens
	large := &tool{id: "large", run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
		return &sdk.ToolResult{Output: big}, nil
	}}
	skill := &tool{id: "skill", run: large.run}
	for _, prune := range []bool{true, false} {
		m := newModel(t)
		b := base(m)
		b.tools = []sdk.Tool{large, skill}
		k := start(t, func(o *host.Options) { o.Config.Compaction.Prune = prune }, b)
		id := k.titled()
		for i := range 8 {
			tool := "large"
			if i == 0 {
				tool = "skill"
			}
			m.on(sdk.PurposeTurn, call(tool, fmt.Sprintf(`{"n":%d}`, i)), say("ok"))
			k.again(id, "go")
		}
		m.on(sdk.PurposeTurn, say("ok"))
		k.again(id, "what do you still see?")
		var kept []bool
		for _, message := range m.last(sdk.PurposeTurn).Messages {
			if message.Role == sdk.RoleTool {
				kept = append(kept, message.Content[0].Text == big)
			}
		}
		// Newest first: two turns are never touched, then three outputs fit 40,000 tokens.
		expect := []bool{true, false, false, true, true, true, true, true}
		if !prune {
			expect = []bool{true, true, true, true, true, true, true, true}
		}
		want(t, fmt.Sprintf("outputs in the request with prune %v", prune), expect, kept)
		for i, p := range k.toolParts(id) {
			if p.State.Output != big {
				t.Errorf("output %d is not stored any more", i)
			}
		}
		k.close()
	}
}

// The preview of an output says where to continue, also in a long line.
func TestLargeOutputContinues(t *testing.T) {
	t.Parallel()
	for want, output := range map[string]string{
		"from line 4]": strings.Repeat("noise\n", 100),
		"from line 2]": strings.Repeat("number ", 1000),
	} {
		m := newModel(t, call("large", `{}`), say("ok"))
		b := base(m)
		b.tools = []sdk.Tool{&tool{id: "large", run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
			return &sdk.ToolResult{Output: output}, nil
		}}}
		k := start(t, func(o *host.Options) { o.Config.ToolOutput = sdk.ToolOutputConfig{MaxLines: 3, MaxBytes: 3000} }, b)
		id, _ := k.prompt("go")
		if got := k.results(id)[0]; !strings.Contains(got, want) {
			t.Errorf("result = %q, want %q", got, want)
		}
	}
}

// An output takes a quarter of a small context at most, even that of a tool with its own limit, such as read.
func TestLargeOutputInASmallContext(t *testing.T) {
	t.Parallel()
	for _, metadata := range []sdk.Object{nil, {"truncated": true}} {
		m := newModel(t, call("large", `{}`), say("ok"))
		b := base(m)
		b.limits = sdk.ModelLimit{Context: 16_000, Output: 4000}
		b.tools = []sdk.Tool{&tool{id: "large", run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
			return &sdk.ToolResult{Output: strings.Repeat("a line of 20 bytes.\n", 2000), Metadata: metadata}, nil
		}}}
		k := start(t, nil, b)
		id, _ := k.prompt("go")
		if got := k.results(id)[0]; !strings.Contains(got, "[16000 of 40000 bytes shown.") {
			t.Errorf("%v: %d bytes: …%q", metadata, len(got), got[max(0, len(got)-200):])
		}
	}
}

// TestLargeOutputKeepsItsTail shows the end of an output whose tool says that the end matters.
func TestLargeOutputKeepsItsTail(t *testing.T) {
	t.Parallel()
	m := newModel(t, call("large", `{}`), say("ok"))
	b := base(m)
	b.tools = []sdk.Tool{&tool{id: "large", run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
		return &sdk.ToolResult{Output: strings.Repeat("noise\n", 100) + "the error", KeepTail: true}, nil
	}}}
	k := start(t, func(o *host.Options) { o.Config.ToolOutput.MaxLines = 3 }, b)
	id, _ := k.prompt("go")
	got := k.results(id)[0]
	if !strings.HasSuffix(got, "\nnoise\nnoise\nthe error") || !strings.HasPrefix(got, "[21 of 609 bytes shown.") {
		t.Errorf("result = %q, want a note and the last 3 lines", got)
	}
}

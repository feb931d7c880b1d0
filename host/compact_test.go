package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

const (
	summaryQuestion = "user: What did we do so far?"
	goOn            = "user: The conversation was summarized to make room. Continue with the next step in the summary; stop if everything is done."
)

// tooLong is how a provider says that the conversation does not fit.
func tooLong() answer {
	return answer{err: &sdk.ProviderError{ProviderID: "test", StatusCode: 400, Code: "context_length_exceeded", Message: "the server's limit is 9"}}
}

// full is a step that leaves no room for another.
func full(a answer) answer {
	a.tokens = sdk.Tokens{Input: 90_000}
	return a
}

// nearly is a step that leaves room for 5,000 tokens.
func nearly(a answer) answer {
	a.tokens = sdk.Tokens{Input: 85_000}
	return a
}

// small gives the plugin's model a context of 100,000 tokens, of which 90,000 are usable.
func small(b *plugin) *plugin {
	b.limits = sdk.ModelLimit{Context: 100_000, Output: 10_000}
	b.tools = append(b.tools, echo("echo"))
	return b
}

// lines renders what the model got, one line a message; long ones are cut.
func lines(r *sdk.ModelRequest) []string {
	var out []string
	for _, m := range r.Messages {
		var content []string
		for _, c := range m.Content {
			switch c.Type {
			case sdk.ContentToolCall:
				content = append(content, "call "+c.Tool+" "+string(c.Args))
			case sdk.ContentFile:
				content = append(content, "file "+c.Mime)
			default:
				content = append(content, c.Text)
			}
		}
		text := strings.Join(content, " | ")
		if len(text) > 200 {
			text = text[:10] + "…"
		}
		out = append(out, m.Role+": "+text)
	}
	return out
}

// last returns the latest request of a purpose.
func (m *model) last(p sdk.Purpose) *sdk.ModelRequest {
	m.t.Helper()
	list := m.of(p)
	if len(list) == 0 {
		m.t.Fatalf("the model got no request with purpose %s", p)
	}
	return list[len(list)-1]
}

func (k *kit) again(session, text string) *sdk.MessageWithParts {
	k.t.Helper()
	m, err := k.Prompt(k.t.Context(), host.PromptInput{SessionID: session, Text: text})
	if err != nil {
		k.t.Fatalf("Prompt(%q) = %v", text, err)
	}
	return m
}

func want(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestCompactionMakesRoom(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("much text ", 8000)
	cases := map[string]struct {
		prompts []string
		script  []answer
		want    []string // what the model gets after the last summary
		answer  string
	}{
		"usage reaches the limit in mid-turn": {
			[]string{"one"}, []answer{full(call("echo", `{"n":1}`)), say("done")},
			[]string{summaryQuestion, "assistant: summary 1", goOn}, "done",
		},
		"the results of a step reach the limit": {
			[]string{"one"}, []answer{nearly(call("echo", `{"n":"`+big+`"}`)), say("done")},
			[]string{summaryQuestion, "assistant: summary 1", goOn}, "done",
		},
		"usage reaches the limit, the next prompt waits for room": {
			[]string{"one", "two"}, []answer{full(say("first")), say("second")},
			[]string{summaryQuestion, "assistant: summary 1", "user: two"}, "second",
		},
		"the provider refuses in mid-turn": {
			[]string{"one"}, []answer{call("echo", `{"n":1}`), tooLong(), say("done")},
			[]string{summaryQuestion, "assistant: summary 1", goOn}, "done",
		},
		"the provider refuses the second prompt": {
			[]string{"one", "two"}, []answer{say("first"), tooLong(), say("second")},
			[]string{summaryQuestion, "assistant: summary 1", "user: two"}, "second",
		},
		"the provider refuses a long second prompt": {
			[]string{"one", big}, []answer{say("first"), tooLong(), say("second")},
			[]string{summaryQuestion, "assistant: summary 1", "user: much text …"}, "second",
		},
		"the newest turn stays verbatim": {
			[]string{big, "two"}, []answer{say("first"), full(call("echo", `{"n":1}`)), say("second")},
			[]string{summaryQuestion, "assistant: summary 1", "user: two", `assistant: call echo {"n":1}`, `tool: {"n":1}`}, "second",
		},
		"the newest steps of a long turn stay verbatim": {
			[]string{"one"}, []answer{call("echo", `{"n":"`+big+`"}`), full(call("echo", `{"n":2}`)), say("done")},
			[]string{summaryQuestion, "assistant: summary 1", "user: one", `assistant: call echo {"n":2}`, `tool: {"n":2}`, goOn}, "done",
		},
		"nor does a large prompt fit with its steps": {
			[]string{big}, []answer{full(call("echo", `{"n":1}`)), say("done")},
			[]string{summaryQuestion, "assistant: summary 1", goOn}, "done",
		},
		"a summary of the summary": {
			[]string{"one"}, []answer{full(call("echo", `{}`)), full(call("echo", `{}`)), say("done")},
			[]string{summaryQuestion, "assistant: summary 2", goOn}, "done",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, c.script...).on(sdk.PurposeCompaction, say("summary 1"), say("summary 2"))
			k := start(t, nil, small(base(m)))
			id := k.session()
			sub := k.Subscribe(4096, false)
			var got *sdk.MessageWithParts
			for _, p := range c.prompts {
				got = k.again(id, p)
			}
			want(t, "the model's messages", c.want, lines(m.last(sdk.PurposeTurn)))
			want(t, "answer", c.answer, textOf(got))
			next(t, sub, ofType(sdk.EventSessionCompacted))
			noOpenParts(t, k, id)
		})
	}
}

// TestTaskListSurvives: a summary may leave out the task list, which only an older call contains.
func TestTaskListSurvives(t *testing.T) {
	t.Parallel()
	m := newModel(t, full(call("todo", `{}`)), say("done")).on(sdk.PurposeCompaction, say("summary"))
	b := small(base(m))
	b.tools = append(b.tools, &tool{id: "todo", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		return &sdk.ToolResult{}, call.Host.(sdk.TodoKeeper).SetTodos(ctx, []sdk.Todo{{Content: "a <b>", Status: "pending"}})
	}})
	k := start(t, nil, b)
	k.prompt("one")
	tasks := "The task list: " + `[{"content":"a <b>","status":"pending","priority":""}]`
	if got := m.last(sdk.PurposeTurn).Messages[2].Content[0].Text; !strings.HasSuffix(got, tasks) {
		t.Errorf("the reminder = %q, want %q at its end", got, tasks)
	}
}

// TestSecondSummary: the first one keeps the newest steps of a turn. A second one does not bring the turn's other steps back.
func TestSecondSummary(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("much text ", 8000)
	m := newModel(t, call("echo", `{"n":"`+big+`"}`), call("echo", `{"n":2}`), say("done"), say("yes")).
		on(sdk.PurposeCompaction, say("summary 1"), say("summary 2"))
	k := start(t, nil, small(base(m)))
	id, _ := k.prompt("one")
	for range 2 {
		if err := k.Compact(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
	}
	k.again(id, "two")
	want(t, "the model's messages", []string{summaryQuestion, "assistant: summary 2", "user: two"}, lines(m.last(sdk.PurposeTurn)))
	if text := m.last(sdk.PurposeCompaction).Messages[0].Content[0].Text; !strings.Contains(text, "summary 1") || !strings.Contains(text, `[called echo {"n":2}]`) {
		t.Errorf("the second request lacks the first summary or the steps that it kept: %s", text)
	}
}

// TestSummaryRequest looks at what the model is asked to summarize.
func TestSummaryRequest(t *testing.T) {
	t.Parallel()
	m := newModel(t, full(call("echo", `{"n":1}`)), full(call("echo", `{"n":2}`)), say("done")).
		on(sdk.PurposeCompaction, say("summary 1"), say("summary 2"))
	k := start(t, nil, small(base(m)))
	k.prompt("do it")
	requests := m.of(sdk.PurposeCompaction)
	for i, r := range requests {
		if len(r.Messages) != 1 || len(r.Tools) != 0 || !slices.Equal(r.System, []string{"You summarize."}) {
			t.Errorf("request %d: %d messages, %d tools, system %q; want one, none and the agent's", i, len(r.Messages), len(r.Tools), r.System)
		}
	}
	first, second := requests[0].Messages[0].Content[0].Text, requests[1].Messages[0].Content[0].Text
	for _, piece := range []string{"user: do it", `[called echo {"n":1}]`} {
		if !strings.Contains(first, piece) {
			t.Errorf("the first request lacks %q: %s", piece, first)
		}
	}
	if !strings.Contains(second, "summary 1") || strings.Contains(second, "do it") {
		t.Errorf("the second request has to hold the first summary in place of what it covers: %s", second)
	}
}

func TestCompactionIsOff(t *testing.T) {
	t.Parallel()
	off := false
	m := newModel(t, full(call("echo", `{}`)), full(say("first")), tooLong(), say("third"))
	k := start(t, func(o *host.Options) { o.Config.Compaction.Auto = &off }, small(base(m)))
	id, _ := k.prompt("one")
	_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "two"})
	var te *host.TurnError
	if !errors.As(err, &te) || te.Named.Name != sdk.ErrorContextOverflow || !strings.Contains(err.Error(), "compaction.auto") {
		t.Errorf("Prompt = %v, want %s that names compaction.auto", err, sdk.ErrorContextOverflow)
	}
	if n := len(m.of(sdk.PurposeCompaction)); n != 0 {
		t.Errorf("%d summaries were asked for, want none", n)
	}
	noOpenParts(t, k, id)
	want(t, "the next answer", "third", textOf(k.again(id, "three")))
}

// TestCompactionIsCapped has a provider that refuses every request as too long.
func TestCompactionIsCapped(t *testing.T) {
	t.Parallel()
	m := newModel(t, say("first"), tooLong(), tooLong(), tooLong(), tooLong(), say("ok")).
		on(sdk.PurposeCompaction, say("one"), say("two"), say("three"))
	k := start(t, nil, base(m))
	id, _ := k.prompt("one")
	_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "two"})
	var te *host.TurnError
	if !errors.As(err, &te) || te.Named.Name != sdk.ErrorContextOverflow || !strings.Contains(err.Error(), "after 3 summaries") {
		t.Errorf("Prompt = %v, want the error after 3 summaries, as an overflow", err)
	}
	if n := len(m.of(sdk.PurposeCompaction)); n != 3 {
		t.Errorf("%d summaries were asked for, want 3", n)
	}
	last := lines(m.last(sdk.PurposeTurn))
	if last[len(last)-1] != "user: two" {
		t.Errorf("the last request ends in %q, want the prompt itself", last[len(last)-1])
	}
	noOpenParts(t, k, id)
	want(t, "the next answer", "ok", textOf(k.again(id, "three")))
}

// TestLargeResults has steps in a row that fit, but not with their results: each is followed by a summary.
func TestLargeResults(t *testing.T) {
	t.Parallel()
	big := toolCall{tool: "echo", args: `{"n":"` + strings.Repeat("much text ", 8000) + `"}`}
	step := calls(big, big, big, big, big, big)
	step.tokens = sdk.Tokens{Input: 30_000}
	m := newModel(t, append(slices.Repeat([]answer{step}, 5), say("done"))...).on(sdk.PurposeCompaction, slices.Repeat([]answer{say("summary")}, 5)...)
	k := start(t, nil, small(base(m)))
	want(t, "the answer", "done", textOf(k.again(k.session(), "one")))
	want(t, "the number of summaries", 5, len(m.of(sdk.PurposeCompaction)))
}

// TestPromptAloneIsTooLong has nothing that could be summarized.
func TestPromptAloneIsTooLong(t *testing.T) {
	t.Parallel()
	m := newModel(t, tooLong())
	k := start(t, nil, base(m))
	_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Text: "one"})
	var te *host.TurnError
	if !errors.As(err, &te) || te.Named.Name != sdk.ErrorContextOverflow || !strings.Contains(err.Error(), "prompt alone is too long") || !strings.Contains(te.Named.Data.Message, "the server's limit is 9") {
		t.Errorf("Prompt = %v, want that the prompt alone is too long, as an overflow in the server's words", err)
	}
}

func TestManualCompactionAndBack(t *testing.T) {
	t.Parallel()
	m := newModel(t, say("first"), say("second"), say("third")).on(sdk.PurposeCompaction, say("the summary"))
	k := start(t, nil, base(m))
	id, _ := k.prompt("one")
	if err := k.Compact(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if err := k.Compact(t.Context(), id, ""); !errors.Is(err, host.ErrNothing) {
		t.Errorf("Compact after a summary = %v, want %v", err, host.ErrNothing)
	}
	k.again(id, "two")
	want(t, "with the summary", []string{summaryQuestion, "assistant: the summary", "user: two"}, lines(m.last(sdk.PurposeTurn)))
	sub := k.Subscribe(64, true)
	if err := k.Uncompact(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		next(t, sub, ofType(sdk.EventMessageRemoved))
	}
	sub.Close()
	k.again(id, "three")
	want(t, "with the originals", []string{"user: one", "assistant: first", "user: two", "assistant: second", "user: three"}, lines(m.last(sdk.PurposeTurn)))
	if err := k.Uncompact(t.Context(), id); !errors.Is(err, host.ErrNothing) {
		t.Errorf("Uncompact without a summary = %v, want %v", err, host.ErrNothing)
	}
	if err := k.Uncompact(t.Context(), "ses_none"); !errors.Is(err, host.ErrNotFound) {
		t.Errorf("Uncompact of no session = %v, want %v", err, host.ErrNotFound)
	}
}

func TestManualCompactionOfAnEmptySession(t *testing.T) {
	t.Parallel()
	k := start(t, nil, base(newModel(t)))
	err := k.Compact(t.Context(), k.session(), "")
	if !errors.Is(err, host.ErrNothing) {
		t.Errorf("Compact = %v, want %v", err, host.ErrNothing)
	}
}

// TestCompactionModel names a model for the summary of an idle session: it overrides the compaction agent's.
func TestCompactionModel(t *testing.T) {
	t.Parallel()
	for name, model := range map[string]string{"": "other", "test/special": "special"} {
		m := newModel(t, say("done"), say("done")).on(sdk.PurposeCompaction, say("the summary"))
		k := start(t, func(o *host.Options) {
			o.Config.Agent = map[string]sdk.AgentConfig{sdk.AgentCompaction: {Model: "test/other"}}
		}, base(m))
		id, _ := k.prompt("one")
		if err := k.Compact(t.Context(), id, name); err != nil {
			t.Fatal(err)
		}
		want(t, "the summary's model with "+name, model, m.last(sdk.PurposeCompaction).Model.ID)
		k.again(id, "two")
		want(t, "the next prompt's model with "+name, "m", m.last(sdk.PurposeTurn).Model.ID)
	}
}

// TestFailedCompaction has summaries that cannot be used: the turn fails, and the session stays as it was.
func TestFailedCompaction(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		summary []answer
		want    string
	}{
		"a tool call":         {[]answer{call("echo", `{}`)}, "called a tool"},
		"no text":             {[]answer{say(""), say("")}, "empty summary"},
		"white space":         {[]answer{say(" \n"), say("")}, "empty summary"},
		"a bad request":       {[]answer{{err: &sdk.ProviderError{ProviderID: "test", StatusCode: 400, Message: "no"}}}, "no (status 400)"},
		"too long as well":    {[]answer{tooLong()}, "too long even to be summarized"},
		"failures to the end": {slices.Repeat([]answer{{err: &sdk.ProviderError{ProviderID: "test", StatusCode: 500, Message: "down"}}}, 6), "down"},
		"a text and a call":   {[]answer{{text: "sum", calls: []toolCall{{tool: "echo", args: "{}"}}}}, "called a tool"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, say("first"), say("second")).on(sdk.PurposeCompaction, c.summary...)
			dir := t.TempDir()
			k := startIn(t, dir, nil, base(m))
			id, _ := k.prompt("one")
			err := k.Compact(t.Context(), id, "")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("Compact = %v, want an error with %q", err, c.want)
			}
			noOpenParts(t, k, id)
			k.again(id, "two")
			originals := []string{"user: one", "assistant: first", "user: two"}
			want(t, "the model's messages", originals, lines(m.last(sdk.PurposeTurn)))
			k.close()
			m.on(sdk.PurposeTurn, say("third"))
			k = startIn(t, dir, nil, base(m))
			k.again(id, "three")
			want(t, "the model's messages in a new host", append(originals, "assistant: second", "user: three"), lines(m.last(sdk.PurposeTurn)))
		})
	}
}

// An empty summary is requested once more, also after a request that was too long. Nothing of it is sent later, but the session counts its tokens.
func TestEmptySummary(t *testing.T) {
	t.Parallel()
	m := newModel(t, say("first"), say("second")).on(sdk.PurposeCompaction, tooLong(),
		answer{think: "nothing", text: " ", tokens: sdk.Tokens{Input: 1000}}, answer{text: "the summary", tokens: sdk.Tokens{Input: 500}})
	k := start(t, nil, base(m))
	id, _ := k.prompt(strings.Repeat("word ", 8<<10))
	if err := k.Compact(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	k.again(id, "two")
	want(t, "the model's messages", []string{summaryQuestion, "assistant: the summary", "user: two"}, lines(m.last(sdk.PurposeTurn)))
	if s, err := k.Session(t.Context(), id); err != nil || s.Tokens.Input != 1500 {
		t.Errorf("the session has %+v (%v), want the tokens of both answers", s, err)
	}
}

// TestLongConversationIsSummarized: a model whose limit is smaller than known gets the newest half, and then half of that.
func TestLongConversationIsSummarized(t *testing.T) {
	t.Parallel()
	const turns = 10
	prompt := strings.Repeat("word ", 1<<10)
	m := newModel(t, slices.Repeat([]answer{say("ok")}, turns+1)...).on(sdk.PurposeCompaction, tooLong(), tooLong(), say("the summary"))
	k := start(t, nil, base(m))
	id, _ := k.prompt(prompt)
	for range turns - 1 {
		k.again(id, prompt)
	}
	if err := k.Compact(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	requests := m.of(sdk.PurposeCompaction)
	for i := 1; i < len(requests); i++ {
		if before, after := len(requests[i-1].Messages[0].Content[0].Text), len(requests[i].Messages[0].Content[0].Text); after > before*3/5 {
			t.Errorf("request %d has %d bytes after one of %d, want about half", i+1, after, before)
		}
	}
	k.again(id, "two")
	want(t, "the beginning of the next request", []string{summaryQuestion, "assistant: the summary"}, lines(m.last(sdk.PurposeTurn))[:2])
}

// TestCompactionRetries: nothing of a broken summary is in the one that replaces it.
func TestCompactionRetries(t *testing.T) {
	t.Parallel()
	m := newModel(t, say("first"), say("second")).on(sdk.PurposeCompaction,
		answer{text: "half", err: &sdk.ProviderError{ProviderID: "test", Cut: true}},
		answer{err: &sdk.ProviderError{ProviderID: "test", StatusCode: 503}}, say("whole"))
	k := start(t, nil, base(m))
	id, _ := k.prompt("one")
	if err := k.Compact(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	k.again(id, "two")
	want(t, "the model's messages", []string{summaryQuestion, "assistant: whole", "user: two"}, lines(m.last(sdk.PurposeTurn)))
}

// TestResumeAfterCompaction opens a compacted session in a new host.
func TestResumeAfterCompaction(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big := strings.Repeat("much text ", 8000)
	m := newModel(t, say("first"), full(call("echo", `{"n":1}`)), say("second"), say("third")).on(sdk.PurposeCompaction, say("the summary"))
	k := startIn(t, dir, nil, small(base(m)))
	id, _ := k.prompt(big)
	k.again(id, "two")
	k.close()
	k = startIn(t, dir, nil, small(base(m)))
	k.again(id, "three")
	want(t, "the model's messages", []string{
		summaryQuestion, "assistant: the summary", "user: two", `assistant: call echo {"n":1}`, `tool: {"n":1}`, "assistant: second", "user: three",
	}, lines(m.last(sdk.PurposeTurn)))
	if n := len(k.messages(id)); n != 9 {
		t.Errorf("%d messages are stored, want the originals too: 9", n)
	}
}

func TestCompactionHooks(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, hooks ...sdk.Hook) (*model, *kit, string) {
		m := newModel(t, full(call("echo", `{}`)), say("done")).on(sdk.PurposeCompaction, say("the summary"))
		k := start(t, nil, small(base(m)), &plugin{name: "hooks", hooks: hooks})
		id, _ := k.prompt("one")
		return m, k, id
	}
	t.Run("context is added", func(t *testing.T) {
		t.Parallel()
		m, _, _ := run(t, sdk.OnCompacting(func(_ context.Context, _ *sdk.CompactingInput, v *sdk.CompactingValue) error {
			v.Context = append(v.Context, "Remember the milk.")
			return nil
		}))
		text := m.last(sdk.PurposeCompaction).Messages[0].Content[0].Text
		if !strings.HasSuffix(text, "Remember the milk.") || !strings.Contains(text, "Summarize the conversation") {
			t.Errorf("prompt = %q, want ours and the hook's", text)
		}
	})
	t.Run("the prompt is replaced", func(t *testing.T) {
		t.Parallel()
		m, _, _ := run(t, sdk.OnCompacting(func(_ context.Context, _ *sdk.CompactingInput, v *sdk.CompactingValue) error {
			v.Prompt = "In one word."
			return nil
		}))
		text := m.last(sdk.PurposeCompaction).Messages[0].Content[0].Text
		if !strings.HasSuffix(text, "\n\nIn one word.") || strings.Contains(text, "Summarize the conversation") {
			t.Errorf("prompt = %q, want the hook's alone", text)
		}
	})
	t.Run("the turn does not go on", func(t *testing.T) {
		t.Parallel()
		m := newModel(t, full(call("echo", `{}`))).on(sdk.PurposeCompaction, say("the summary"))
		k := start(t, nil, small(base(m)), &plugin{name: "hooks", hooks: []sdk.Hook{
			sdk.OnAutocontinue(func(_ context.Context, in *sdk.AutocontinueInput, v *sdk.AutocontinueValue) error {
				v.Enabled = !in.Overflow
				return nil
			}),
		}})
		k.prompt("one")
		if n := len(m.of(sdk.PurposeTurn)); n != 1 {
			t.Errorf("%d requests of the turn, want 1", n)
		}
	})
}

// TestAbortOfCompaction ends a summary in the middle: nothing stays open, and the original messages remain in use.
func TestAbortOfCompaction(t *testing.T) {
	t.Parallel()
	begun, hold := make(chan struct{}), make(chan struct{})
	defer close(hold)
	m := newModel(t, say("first"), say("second")).on(sdk.PurposeCompaction, answer{text: "half", begun: begun, hold: hold})
	k := start(t, nil, base(m))
	id, _ := k.prompt("one")
	go func() {
		<-begun
		k.Abort(id)
	}()
	err := k.Compact(t.Context(), id, "")
	var te *host.TurnError
	if !errors.As(err, &te) || te.Named.Name != sdk.ErrorAborted {
		t.Errorf("Compact = %v, want %s", err, sdk.ErrorAborted)
	}
	noOpenParts(t, k, id)
	messages := k.messages(id)
	if a := messages[len(messages)-1].Info.(*sdk.AssistantMessage); a.Error == nil || a.Error.Name != sdk.ErrorAborted {
		t.Errorf("the summary's error = %v, want %s", a.Error, sdk.ErrorAborted)
	}
	k.again(id, "two")
	want(t, "the model's messages", []string{"user: one", "assistant: first", "user: two"}, lines(m.last(sdk.PurposeTurn)))
}

// TestSummaryNamesWhatItCovers checks the range that makes a compaction reversible for clients.
func TestSummaryNamesWhatItCovers(t *testing.T) {
	t.Parallel()
	m := newModel(t, say("first")).on(sdk.PurposeCompaction, say("the summary"))
	k := start(t, nil, base(m))
	id, _ := k.prompt("one")
	if err := k.Compact(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	messages := k.messages(id)
	text := messages[3].Parts[0].(*sdk.TextPart)
	covers, _ := text.Metadata["covers"].(map[string]any)
	if covers["from"] != messages[0].Info.Head().ID || covers["to"] != messages[1].Info.Head().ID || fmt.Sprint(covers["messages"]) != "2" {
		t.Errorf("covers = %v, want the two messages", covers)
	}
}

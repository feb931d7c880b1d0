package host_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// TestCompactionAfterTheAnswer asks for a summary while the last step streams: the turn has its answer, so
// the model is not asked again.
func TestCompactionAfterTheAnswer(t *testing.T) {
	t.Parallel()
	begun, hold := make(chan struct{}), make(chan struct{})
	m := newModel(t, answer{text: "the answer", begun: begun, hold: hold}).on(sdk.PurposeCompaction, say("the summary"))
	k := start(t, nil, base(m))
	id := k.session()
	got := make(chan string, 1)
	go func() {
		a, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "one"})
		if err != nil {
			t.Error(err)
			got <- ""
			return
		}
		got <- textOf(a)
	}()
	<-begun
	sub := k.Subscribe(1024, false)
	queueOnly, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.Compact(queueOnly, id, ""); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(hold)
	next(t, sub, ofType(sdk.EventSessionCompacted))
	want(t, "answer", "the answer", <-got)
	if n := len(m.of(sdk.PurposeTurn)); n != 1 {
		t.Errorf("%d requests of the turn, want 1", n)
	}
}

// TestJobDuringManualCompaction renames the session while its summary streams. No prompt follows, so the model is not asked.
func TestJobDuringManualCompaction(t *testing.T) {
	t.Parallel()
	begun, hold := make(chan struct{}), make(chan struct{})
	m := newModel(t, say("first"), say("second")).on(sdk.PurposeCompaction, answer{text: "the summary", begun: begun, hold: hold})
	k := start(t, nil, base(m))
	id, _ := k.prompt("one")
	compacted := make(chan error, 1)
	go func() { compacted <- k.Compact(t.Context(), id, "") }()
	<-begun
	queueOnly, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.SetTitle(queueOnly, id, "named"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(hold)
	if err := <-compacted; err != nil {
		t.Fatal(err)
	}
	want(t, "requests", 1, len(m.of(sdk.PurposeTurn)))
	want(t, "next answer", "second", textOf(k.again(id, "two")))
	if s, err := k.Session(t.Context(), id); err != nil || s.Title != "named" {
		t.Errorf("title %q, %v", s.Title, err)
	}
}

// TestPromptAfterManualCompaction renames the session during the answer to a prompt that arrived while a requested summary streamed. The answer
// continues.
func TestPromptAfterManualCompaction(t *testing.T) {
	t.Parallel()
	summary, held, begun, hold := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	m := newModel(t, say("first"), answer{calls: []toolCall{{tool: "echo", args: `{}`}}, begun: begun, hold: hold}, say("second"))
	m.on(sdk.PurposeCompaction, answer{text: "the summary", begun: summary, hold: held})
	b := base(m)
	b.tools = []sdk.Tool{echo("echo")}
	k := start(t, nil, b)
	id, _ := k.prompt("one")
	compacted := make(chan error, 1)
	go func() { compacted <- k.Compact(t.Context(), id, "") }()
	<-summary
	queueOnly, cancel := context.WithCancel(t.Context())
	cancel()
	answered := make(chan error, 1)
	go func() {
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "two"})
		answered <- err
	}()
	for len(k.Waiting(id)) == 0 {
		runtime.Gosched()
	}
	close(held)
	<-begun
	if err := k.SetTitle(queueOnly, id, "named"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(hold)
	if err := <-compacted; err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	want(t, "requests", 3, len(m.of(sdk.PurposeTurn)))
}

// keyless contributes a provider that needs a key.
type keyless struct{ *plugin }

func (keyless) Providers() []sdk.ProviderInfo {
	return []sdk.ProviderInfo{{ID: "keyless", Protocol: "test", Env: []string{"NO_SUCH_KEY"}}}
}

// TestCompactionOfABusySession names a model for the summary: the turn under way continues with its own.
func TestCompactionOfABusySession(t *testing.T) {
	t.Parallel()
	for name, models := range map[string][]string{
		"test/other": {"m", "other", "m"}, "": {"m", "m", "m"}, "missing/x": {"m", "m"}, "keyless/x": {"m", "m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, hold := make(chan struct{}), make(chan struct{})
			m := newModel(t, answer{calls: []toolCall{{tool: "echo", args: `{}`}}, begun: begun, hold: hold}, say("done")).on(sdk.PurposeCompaction, say("the summary"))
			b := base(m)
			b.tools = []sdk.Tool{echo("echo")}
			k := start(t, nil, b, keyless{&plugin{name: "keyless"}})
			id := k.titled()
			answered := make(chan error, 1)
			go func() {
				_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "one"})
				answered <- err
			}()
			<-begun
			queueOnly, cancel := context.WithCancel(t.Context())
			cancel()
			if err := k.Compact(queueOnly, id, name); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			close(hold)
			if err := <-answered; err != nil {
				t.Fatal(err)
			}
			var got []string
			m.mu.Lock()
			for _, r := range m.requests {
				if r.SessionID == id && r.Purpose != sdk.PurposeTitle {
					got = append(got, r.Model.ID)
				}
			}
			m.mu.Unlock()
			want(t, "models", models, got)
			s, err := k.Session(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			want(t, "the session's model", "m", s.Model.ID)
		})
	}
}

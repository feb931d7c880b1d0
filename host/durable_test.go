package host_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// TestStartIsStoredFirst stores the start of a call slowly: a tool that only reads files runs meanwhile, any other one waits.
func TestStartIsStoredFirst(t *testing.T) {
	t.Parallel()
	for id, waits := range map[string]bool{"read": false, "grep": false, "glob": false, "list": false, "write": true, "webfetch": true, "echo": true} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			ran := make(chan struct{})
			early := false
			f := &faulty{onStart: func() {
				limit := 10 * time.Second
				if waits {
					limit = 50 * time.Millisecond // for a call that does not wait
				}
				select {
				case <-ran:
					early = true
				case <-time.After(limit):
				}
			}}
			b := base(newModel(t, answer{calls: []toolCall{{tool: id, args: `{}`}}}, say("ok")))
			b.tools = []sdk.Tool{&tool{id: id, run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
				close(ran)
				return &sdk.ToolResult{Output: "done"}, nil
			}}}
			k := faultyKit(t, f, b)
			session := k.titled()
			k.again(session, "go")
			k.close()
			if early == waits {
				t.Errorf("the tool ran before its start was stored: %v", early)
			}
		})
	}
}

// TestStoreIsFull runs a turn for each of its writes and lets that write run out of space: the turn ends
// with that error, nothing that is not stored was reported, and with free space the session continues.
func TestStoreIsFull(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"echo", "read"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			storeIsFull(t, tool)
		})
	}
}

func storeIsFull(t *testing.T, tool string) {
	for n := 1; ; n++ {
		if n > 100 {
			t.Fatal("the turn never got through")
		}
		f := &faulty{fullAt: n, written: make(chan struct{}, 1)}
		pace := func() { // so that each event of the model is a separate write
			select {
			case <-f.written:
			case <-time.After(100 * time.Millisecond): // no space left
			}
		}
		m := newModel(t,
			answer{think: "h", text: "I", calls: []toolCall{{tool: tool, args: `{}`}}, pace: pace}, answer{text: "ok", pace: pace})
		b := base(m)
		b.tools = []sdk.Tool{echo(tool)}
		k := faultyKit(t, f, b)
		id := k.titled()
		sub := k.Subscribe(4096, false)
		got, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
		if !f.room() {
			if err != nil {
				t.Fatalf("without a fault: %v", err)
			}
			if n <= 4 { // prompt, call, result, answer; a busy machine joins more of them
				t.Errorf("the turn took %d writes, fewer than a turn needs", n-1)
			}
			return
		}
		if !errors.Is(err, store.ErrFull) {
			t.Fatalf("write %d: Prompt = %v, want %v", n, err, store.ErrFull)
		}
		// A message for which no prompt remains in the queue is answered together with the next prompt.
		stored, waits := len(k.messages(id)) > 0, errors.Is(err, host.ErrWaits)
		if got != nil && !stored || got == nil && stored && !waits {
			t.Errorf("write %d: the prompt is stored: %v; Prompt = %v, %v", n, stored, got, err)
		}
		toldIsStored(t, k, id, untilIdle(t, sub))
		m.mu.Lock()
		m.script[sdk.PurposeTurn] = []answer{say("again")}
		m.mu.Unlock()
		want(t, "the next answer", "again", textOf(k.again(id, "once more")))
		noOpenParts(t, k, id)
		everyCallHasAResult(t, m.last(sdk.PurposeTurn))
		k.close()
	}
}

// A request after a restart begins with the bytes of those before: model servers keep what they computed for them.
func TestRequestsAfterRestartBeginAlike(t *testing.T) {
	t.Parallel()
	t.Run("short", func(t *testing.T) { beginAlike(t, "") })
	t.Run("long", func(t *testing.T) { beginAlike(t, strings.Repeat("x", 1<<20)) })
}

func beginAlike(t *testing.T, text string) {
	m := newModel(t, call("read", " { \"b\": \"<é>\",\n\"a\" : [1, 2], \"c\":\""+text+"\" }"), say("done"), say("again"))
	b := base(m)
	b.tools = []sdk.Tool{echo("read")}
	dir := t.TempDir()
	k := startIn(t, dir, nil, b)
	id, _ := k.prompt("go")
	before := m.last(sdk.PurposeTurn).Messages
	k.close()
	k = startIn(t, dir, nil, b)
	k.again(id, "go on")
	if after := m.last(sdk.PurposeTurn).Messages; len(after) <= len(before) {
		t.Fatalf("%d messages after the restart, want more than %d", len(after), len(before))
	} else if !reflect.DeepEqual(before, after[:len(before)]) {
		t.Errorf("messages before and after the restart: %.2000v\n%.2000v", before, after)
	}
}

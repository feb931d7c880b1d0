package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// endless is a model whose answers do not end: it repeats an event until it is stopped.
type endless struct {
	first  []sdk.StreamEvent
	event  func(i int) sdk.StreamEvent
	every  time.Duration // between two events
	asked  atomic.Int64
	events atomic.Int64
}

func (m *endless) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	if req.Purpose == sdk.PurposeTitle {
		return sink(sdk.StreamEvent{Type: sdk.StreamFinish, Reason: sdk.FinishStop})
	}
	m.asked.Add(1)
	for _, e := range m.first {
		if err := sink(e); err != nil {
			return err
		}
	}
	for i := 0; ; i++ {
		if m.every > 0 {
			select {
			case <-time.After(m.every):
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return &sdk.ProviderError{ProviderID: "test", Cut: true, Err: ctx.Err()}
		}
		m.events.Add(1)
		if err := sink(m.event(i)); err != nil {
			return err
		}
	}
}

// TestAnswersWithoutEnd are cut at 16 MiB whatever they consist of, not asked for again, and not sent back to the model.
func TestAnswersWithoutEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("spends its time copying megabytes, which the race detector slows down; runs without -short")
	}
	t.Parallel()
	chunk := strings.Repeat("x", 64<<10)
	control := strings.Repeat("\x01", 64<<10)
	secret := sdk.Object{"encrypted": chunk}
	for name, c := range map[string]struct {
		event  func(i int) sdk.StreamEvent
		events int64 // at most
	}{
		"text":      {func(int) sdk.StreamEvent { return sdk.StreamEvent{Type: sdk.StreamText, ID: "a", Text: chunk} }, 257},
		"reasoning": {func(int) sdk.StreamEvent { return sdk.StreamEvent{Type: sdk.StreamReasoning, ID: "a", Text: chunk} }, 257},
		"arguments": {func(int) sdk.StreamEvent {
			return sdk.StreamEvent{Type: sdk.StreamToolCall, ID: "a", Tool: "read", Text: chunk}
		}, 257},
		"characters": {func(int) sdk.StreamEvent { return sdk.StreamEvent{Type: sdk.StreamText, ID: "a", Text: control} }, 44},
		"metadata":   {func(int) sdk.StreamEvent { return sdk.StreamEvent{Type: sdk.StreamText, ID: "a", Metadata: secret} }, 257},
		"blocks": {func(i int) sdk.StreamEvent {
			return sdk.StreamEvent{Type: []string{sdk.StreamText, sdk.StreamReasoning}[i%2], ID: "a", Text: "x"}
		}, 4<<10 + 1},
		"tool names": {func(i int) sdk.StreamEvent { return sdk.StreamEvent{Type: sdk.StreamToolCall, ID: "a", Tool: chunk} }, 257},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &endless{event: c.event}
			p := base(nil)
			p.client = m
			k := start(t, nil, p)
			id := k.titled()
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "hi"})
			if !errors.Is(err, sdk.ErrAnswerLimit) || !strings.Contains(err.Error(), "longer than 16 MiB") {
				t.Errorf("Prompt = %v, want %v", err, sdk.ErrAnswerLimit)
			}
			if m.asked.Load() != 1 || m.events.Load() > c.events {
				t.Errorf("asked %d times for %d events, want once and at most %d", m.asked.Load(), m.events.Load(), c.events)
			}
			for _, message := range k.messages(id) {
				if message.Info.Role() == sdk.RoleUser {
					continue
				}
				if text := textOf(&message); text != "" {
					t.Errorf("%d bytes of the broken answer are kept for the model", len(text))
				}
				data, err := json.Marshal(message.Parts)
				if err != nil || name != "blocks" && len(data) > 512<<10 {
					t.Errorf("the answer takes %d bytes in the store, error %v", len(data), err)
				}
			}
		})
	}
}

// TestBrokenAnswersKeepTheirBeginning: what six tries left does not grow with what the server sent.
func TestBrokenAnswersKeepTheirBeginning(t *testing.T) {
	t.Parallel()
	broken := answer{think: "thought", text: strings.Repeat("ü", 40<<10), err: &sdk.ProviderError{ProviderID: "test", Cut: true, Message: "cut"}}
	k := start(t, nil, base(newModel(t, broken, broken, broken, broken, broken, say("done"))))
	id, m := k.prompt("hi")
	data, err := json.Marshal(k.messages(id))
	if err != nil || len(data) > 6*(64<<10+4<<10) || !strings.Contains(string(data), "…") {
		t.Errorf("%d bytes are stored, error %v", len(data), err)
	}
	if textOf(m) != "done" {
		t.Errorf("answer %.100q, want done", textOf(m))
	}
}

// TestLongAnswersPass up to the limit.
func TestLongAnswersPass(t *testing.T) {
	if testing.Short() {
		t.Skip("spends its time copying megabytes, which the race detector slows down; runs without -short")
	}
	t.Parallel()
	chunk := strings.Repeat("y", 64<<10)
	p := base(nil)
	p.client = streamFunc(func(_ *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
		for range 255 {
			if err := sink(sdk.StreamEvent{Type: sdk.StreamText, ID: "a", Text: chunk}); err != nil {
				return err
			}
		}
		return sink(sdk.StreamEvent{Type: sdk.StreamFinish, Reason: sdk.FinishStop})
	})
	k := start(t, nil, p)
	m, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.titled(), Text: "hi"})
	if err != nil || textOf(m) != strings.Repeat(chunk, 255) {
		t.Errorf("Prompt = %v, want the whole answer", err)
	}
}

// TestAnswersThatTakeForEver end in time, whatever the protocol does, and say which option sets the limit.
func TestAnswersThatTakeForEver(t *testing.T) {
	t.Parallel()
	drip := func(int) sdk.StreamEvent { return sdk.StreamEvent{Type: sdk.StreamText, ID: "a", Text: "."} }
	empty := func(int) sdk.StreamEvent { return sdk.StreamEvent{Type: sdk.StreamText, ID: "a"} }
	for name, c := range map[string]struct {
		event   func(int) sdk.StreamEvent
		options string
		asked   int64
		says    string
		is      error
		took    time.Duration // of all tries, without the waits between them
	}{
		"a word a minute":      {drip, `{}`, 1, "totalTimeout", sdk.ErrAnswerLimit, 2 * time.Hour},
		"total set":            {drip, `{"totalTimeout":600000}`, 1, "totalTimeout", sdk.ErrAnswerLimit, 10 * time.Minute},
		"nothing of an answer": {empty, `{}`, 2, "answerTimeout", os.ErrDeadlineExceeded, 30 * time.Minute},
		"by timeout":           {empty, `{"timeout":100000}`, 2, "answerTimeout", os.ErrDeadlineExceeded, 10 * time.Minute},
		"by its own name":      {empty, `{"timeout":false,"answerTimeout":60000}`, 2, "answerTimeout", os.ErrDeadlineExceeded, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &endless{event: c.event, every: time.Minute}
				took, err := takeForEver(t, m, c.options)
				if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("Prompt = %v, want %v and %q", err, c.is, c.says)
				}
				if m.asked.Load() != c.asked || took < c.took || took > c.took+2*time.Minute {
					t.Errorf("asked %d times in %s, want %d in %s", m.asked.Load(), took, c.asked, c.took)
				}
			})
		})
	}
}

// takeForEver runs a prompt in the bubble and returns how long it took in the bubble's time.
func takeForEver(t *testing.T, m *endless, options string) (time.Duration, error) {
	t.Helper()
	p := base(nil)
	p.client = m
	k := start(t, func(o *host.Options) {
		var provider sdk.ProviderConfig
		if err := json.Unmarshal([]byte(`{"options":`+options+`}`), &provider); err != nil {
			t.Fatal(err)
		}
		o.Config.Provider = map[string]sdk.ProviderConfig{"test": provider}
	}, p)
	id, began := k.titled(), time.Now()
	_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "hi"})
	return time.Since(began), err
}

// TestLimitsMustBeNumbers says which option is wrong.
func TestLimitsMustBeNumbers(t *testing.T) {
	t.Parallel()
	for _, options := range []string{`{"totalTimeout":"1h"}`, `{"answerTimeout":-1}`, `{"totalTimeout":true}`} {
		_, err := takeForEver(t, &endless{}, options)
		if !errors.Is(err, host.ErrModel) || !strings.Contains(err.Error(), "want milliseconds or false") {
			t.Errorf("%s: Prompt = %v, want an error about the option", options, err)
		}
	}
}

// TestStoredErrorsAreBounded, whatever a provider puts into them, and keep what a reader needs.
func TestStoredErrorsAreBounded(t *testing.T) {
	t.Parallel()
	headers := map[string]string{"a-request-id": "r1"}
	for i := range 100 {
		headers["x-"+strings.Repeat("h", i+1)] = strings.Repeat("v", 64<<10)
	}
	failure := &sdk.ProviderError{
		ProviderID: "test", StatusCode: 500, Headers: headers, Body: strings.Repeat("ü", 1<<20), Message: strings.Repeat("ü", 1<<20),
	}
	k := start(t, nil, base(newModel(t, answer{err: failure}, answer{err: failure}, say("done"))))
	id, _ := k.prompt("hi")
	data, err := json.Marshal(k.messages(id))
	if err != nil || len(data) > 100<<10 {
		t.Errorf("%d bytes are stored, error %v, want at most 100 KiB for two errors", len(data), err)
	}
	if !strings.Contains(string(data), `"a-request-id":"r1"`) {
		t.Error("the first header is not stored")
	}
}

// An answer that the provider's content filter ended is kept, and fails the turn.
func TestContentFilter(t *testing.T) {
	t.Parallel()
	k := start(t, nil, base(newModel(t, answer{text: "half", finish: sdk.FinishContentFilter})))
	m, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Text: "go"})
	var failed *host.TurnError
	if !errors.As(err, &failed) || failed.Named.Name != sdk.ErrorContentFilter {
		t.Fatalf("Prompt = %v, want the error of the content filter", err)
	}
	if info := m.Info.(*sdk.AssistantMessage); info.Error == nil || info.Error.Name != sdk.ErrorContentFilter {
		t.Errorf("message = %+v, want the error of the content filter", info)
	}
}

// Without retries, an empty answer is final, and not an error.
func TestEmptyAnswerWithoutRetries(t *testing.T) {
	t.Parallel()
	m := newModel(t, call("echo", `{}`), answer{})
	b := base(m)
	b.tools = []sdk.Tool{echo("echo")}
	k := start(t, func(o *host.Options) { o.Config.Retry.Max = new(0) }, b)
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Text: "go"}); err != nil {
		t.Error(err)
	}
}

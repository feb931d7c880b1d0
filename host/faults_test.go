package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// faulty is a store that can be made to fail and to wait.
type faulty struct {
	store.Store
	mu      sync.Mutex
	appends int
	fullAt  int           // the first Append that finds no space; 0: none
	written chan struct{} // told of each Append, when there is room
	claimed chan struct{} // if set, told of each Claim; the ledger is stored after one, or after a while
	onRead  func()
	onSubm  func() // after a prompt was stored
	onStart func() // before the start of a tool call is stored
}

func (f *faulty) Append(ctx context.Context, t store.Token, ops []store.Op) (uint64, error) {
	f.mu.Lock()
	f.appends++
	full := f.fullAt > 0 && f.appends >= f.fullAt
	f.mu.Unlock()
	if full {
		return 0, store.ErrFull
	}
	isStart := func(op store.Op) bool {
		p, is := op.(store.PutPart)
		if !is {
			return false
		}
		call, is := p.Part.(*sdk.ToolPart)
		return is && call.State.Status == sdk.ToolRunning
	}
	if f.onStart != nil && slices.ContainsFunc(ops, isStart) {
		f.onStart()
	}
	isLedger := func(op store.Op) bool { _, is := op.(store.PutLedger); return is }
	if f.claimed != nil && slices.ContainsFunc(ops, isLedger) {
		select {
		case <-f.claimed:
		case <-time.After(100 * time.Millisecond): // nothing claims a session whose runner stores something
		}
	}
	seq, err := f.Store.Append(ctx, t, ops)
	select {
	case f.written <- struct{}{}:
	default:
	}
	return seq, err
}

func (f *faulty) Claim(ctx context.Context, session string) (store.Token, error) {
	token, err := f.Store.Claim(ctx, session)
	select {
	case f.claimed <- struct{}{}:
	default:
	}
	return token, err
}

func (f *faulty) Session(ctx context.Context, id string) (*sdk.Session, uint64, error) {
	if f.onRead != nil {
		f.onRead()
	}
	return f.Store.Session(ctx, id)
}

func (f *faulty) Submit(ctx context.Context, p store.Prompt) error {
	err := f.Store.Submit(ctx, p)
	if f.onSubm != nil {
		f.onSubm()
	}
	return err
}

// room frees the space again and reports whether it had run out.
func (f *faulty) room() (was bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was = f.fullAt > 0 && f.appends >= f.fullAt
	f.fullAt = 0
	return was
}

// faultyKit starts a host on a store that can fail.
func faultyKit(t *testing.T, f *faulty, plugins ...sdk.Plugin) *kit {
	return start(t, func(o *host.Options) {
		f.Store = o.Store
		o.Store = f
	}, plugins...)
}

// titled creates a session for which no title is made.
func (k *kit) titled() string {
	k.t.Helper()
	s, err := k.CreateSession(k.t.Context(), host.NewSession{Title: "A test"})
	if err != nil {
		k.t.Fatal(err)
	}
	return s.ID
}

// TestWaitingPromptsOutlastAFullStore: prompts wait while a turn cannot be stored. Each is answered once, with the next prompt.
func TestWaitingPromptsOutlastAFullStore(t *testing.T) {
	t.Parallel()
	begun, hold := make(chan struct{}), make(chan struct{})
	f := &faulty{}
	m := newModel(t, answer{text: "one", begun: begun, hold: hold}, say("a"), say("b"), say("c"))
	k := faultyKit(t, f, base(m))
	id := k.titled()
	var waits []func(context.Context) (*sdk.MessageWithParts, error)
	send := func(text string) {
		wait, err := k.Submit(t.Context(), host.PromptInput{SessionID: id, Text: text})
		if err != nil {
			t.Fatal(err)
		}
		waits = append(waits, wait)
	}
	send("first")
	<-begun
	send("waiting one")
	send("waiting two")
	f.mu.Lock()
	f.fullAt = 1
	f.mu.Unlock()
	close(hold)
	for i, wait := range waits {
		got, err := wait(t.Context())
		if !errors.Is(err, store.ErrFull) || errors.Is(err, host.ErrWaits) != (i > 0) || (got == nil) != (i > 0) {
			t.Errorf("prompt %d: %v, %v", i, got, err)
		}
	}
	f.room()
	k.again(id, "third")
	var prompts []string
	for _, line := range lines(m.last(sdk.PurposeTurn)) {
		if strings.HasPrefix(line, "user: ") {
			prompts = append(prompts, line)
		}
	}
	want(t, "the prompts", []string{"user: first", "user: waiting one", "user: waiting two", "user: third"}, prompts)
}

// TestRefusedPromptLeavesTheTurn sends a prompt that cannot be used into a running turn: only this prompt fails, with the refusal itself.
func TestRefusedPromptLeavesTheTurn(t *testing.T) {
	t.Parallel()
	begun, hold := make(chan struct{}), make(chan struct{})
	k := start(t, nil, base(newModel(t, answer{text: "one", begun: begun, hold: hold})))
	id := k.titled()
	first, err := k.Submit(t.Context(), host.PromptInput{SessionID: id, Text: "first"})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	second, err := k.Submit(t.Context(), host.PromptInput{SessionID: id, Text: "second", Model: "nosuch/model"})
	if err != nil {
		t.Fatal(err)
	}
	close(hold)
	var te *host.TurnError
	if got, err := second(t.Context()); got != nil || !errors.Is(err, host.ErrModel) || errors.As(err, &te) || errors.Is(err, host.ErrWaits) {
		t.Errorf("the refused prompt: %v, %v", got, err)
	}
	if got, err := first(t.Context()); err != nil || textOf(got) != "one" {
		t.Errorf("the turn: %v, %v", got, err)
	}
}

// untilIdle returns the events up to the end of the turn.
func untilIdle(t *testing.T, sub *host.Subscription) []sdk.Event {
	t.Helper()
	var out []sdk.Event
	next(t, sub, func(e sdk.Event) bool {
		out = append(out, e)
		return e.Type == sdk.EventSessionIdle
	})
	return out
}

// toldIsStored checks that the events agree with what a client finds in the store.
func toldIsStored(t *testing.T, k *kit, id string, events []sdk.Event) {
	t.Helper()
	stored := map[string]string{}
	for _, m := range k.messages(id) {
		stored[m.Info.Head().ID] = "message"
		for _, p := range m.Parts {
			stored[p.Head().ID] = p.Type()
			if tool, ok := p.(*sdk.ToolPart); ok {
				stored[p.Head().ID] = string(tool.State.Status)
			}
		}
	}
	told := map[string]string{}
	for _, e := range events {
		switch p := e.Properties.(type) {
		case *sdk.MessageInfo:
			told[p.Info.Head().ID] = "message"
		case *sdk.PartInfo:
			told[p.Part.Head().ID] = p.Part.Type()
			if tool, ok := p.Part.(*sdk.ToolPart); ok {
				told[p.Part.Head().ID] = string(tool.State.Status)
			}
		case *sdk.PartDelta:
			if text := storedText(t, k, id, p.PartID); !strings.Contains(text, p.Delta) {
				t.Errorf("told of %q, stored is %q", p.Delta, text)
			}
		}
	}
	for id, what := range told {
		if stored[id] != what {
			t.Errorf("told of %s %s, stored is %q", what, id, stored[id])
		}
	}
}

// everyCallHasAResult checks a request in the way strict providers do.
func everyCallHasAResult(t *testing.T, r *sdk.ModelRequest) {
	t.Helper()
	open := map[string]bool{}
	for _, m := range r.Messages {
		for _, c := range m.Content {
			switch c.Type {
			case sdk.ContentToolCall:
				open[c.CallID] = true
			case sdk.ContentToolResult:
				if !open[c.CallID] {
					t.Errorf("result of %s without its call", c.CallID)
				}
				delete(open, c.CallID)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without results: %v", open)
	}
}

// crashed leaves a session like a process that dies in the middle of a step while a prompt waits.
func crashed(t *testing.T, k *kit) string {
	t.Helper()
	ctx := t.Context()
	s, err := k.CreateSession(ctx, host.NewSession{Title: "A test"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := k.store.Claim(ctx, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	ids := &live.IDs{}
	user := &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: ids.New(sdk.PrefixMessage), SessionID: s.ID}, Agent: "build", Time: sdk.MessageTime{Created: 1}}
	step := &sdk.AssistantMessage{MessageHead: sdk.MessageHead{ID: ids.New(sdk.PrefixMessage), SessionID: s.ID}, ParentID: user.ID, Agent: "build", ModelID: "m", ProviderID: "test", Time: sdk.MessageTime{Created: 2}}
	part := func(m sdk.Message) sdk.PartHead {
		return sdk.PartHead{ID: ids.New(sdk.PrefixPart), SessionID: s.ID, MessageID: m.Head().ID}
	}
	text := &sdk.TextPart{PartHead: part(step), Time: &sdk.PartTime{Start: 2}}
	ops := []store.Op{
		store.SetTurn{Open: true}, store.PutMessage{Message: user},
		store.PutPart{Part: &sdk.TextPart{PartHead: part(user), Text: "do it"}},
		store.PutMessage{Message: step},
		store.PutPart{Part: &sdk.ReasoningPart{PartHead: part(step), Text: "hm", Time: sdk.PartTime{Start: 2}}},
		store.PutPart{Part: text}, store.AppendText{PartID: text.ID, Field: "text", Text: "I was sayi"},
		store.PutPart{Part: &sdk.ToolPart{PartHead: part(step), CallID: "done", Tool: "echo", State: sdk.ToolState{
			Status: sdk.ToolCompleted, Input: json.RawMessage(`{}`), Output: "finished", Time: sdk.ToolTime{Start: 3, End: 4},
		}}},
		store.PutPart{Part: &sdk.ToolPart{PartHead: part(step), CallID: "runs", Tool: "echo", State: sdk.ToolState{
			Status: sdk.ToolRunning, Input: json.RawMessage(`{"n":1}`), Time: sdk.ToolTime{Start: 3},
		}}},
		store.PutPart{Part: &sdk.ToolPart{PartHead: part(step), CallID: "waits", Tool: "echo", State: sdk.ToolState{
			Status: sdk.ToolPending, Input: json.RawMessage(`{}`), Raw: `{"n":`,
		}}},
	}
	if _, err := k.store.Append(ctx, token, ops); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(host.PromptInput{SessionID: s.ID, Text: "and then this"})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.store.Submit(ctx, store.Prompt{ID: ids.New(sdk.PrefixMessage), SessionID: s.ID, Data: data}); err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// TestRecovery starts a host on the store that a crashed one left.
func TestRecovery(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := startIn(t, dir, nil, base(newModel(t)))
	id := crashed(t, k)
	k.close()

	m := newModel(t, say("to the waiting one"), say("to the new one"))
	b := base(m)
	b.tools = []sdk.Tool{&tool{id: "echo", run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
		t.Error("a call of the crashed host was run again")
		return &sdk.ToolResult{}, nil
	}}}
	k = startIn(t, dir, nil, b)
	noOpenParts(t, k, id)
	messages := k.messages(id)
	step := messages[1].Info.(*sdk.AssistantMessage)
	if step.Error == nil || step.Error.Name != sdk.ErrorAborted || !strings.Contains(step.Error.Data.Message, "interrupted") {
		t.Errorf("the step's error = %v, want that it was interrupted", step.Error)
	}
	want(t, "text", "I was sayi", textOf(&messages[1]))
	got := k.results(id)
	for i, piece := range []string{"finished", "outcome unknown", "interrupted before it ran"} {
		if !strings.Contains(got[i], piece) {
			t.Errorf("result %d = %q, want %q", i, got[i], piece)
		}
	}
	if left, err := k.store.Interrupted(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("Interrupted = %v, %v, want none", left, err)
	}
	if waiting, err := k.store.Prompts(t.Context(), id); err != nil || len(waiting) != 1 {
		t.Fatalf("%d prompts wait (%v), want the one that was stored", len(waiting), err)
	}

	want(t, "answer", "to the new one", textOf(k.again(id, "new")))
	sent := lines(m.last(sdk.PurposeTurn))
	if tail := strings.Join(sent[len(sent)-3:], "\n"); tail != "user: and then this\nassistant: to the waiting one\nuser: new" {
		t.Errorf("the end of the conversation is\n%s", tail)
	}
	for _, r := range m.of(sdk.PurposeTurn) {
		everyCallHasAResult(t, r)
	}
	if waiting, _ := k.store.Prompts(t.Context(), id); len(waiting) != 0 {
		t.Errorf("%d prompts still wait", len(waiting))
	}
}

// TestRecoveryWhileRunning continues a session that another process left open after this one started.
func TestRecoveryWhileRunning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := newModel(t, say("to the waiting one"), say("to the new one"))
	k := startIn(t, dir, nil, base(m))
	other := startIn(t, dir, nil, base(newModel(t)))
	id := crashed(t, other)
	other.close()
	k.again(id, "new")
	noOpenParts(t, k, id)
	if got := k.results(id)[1]; !strings.Contains(got, "outcome unknown") {
		t.Errorf("result = %q, want that the outcome is unknown", got)
	}
}

// interrupting cancels the start of a host once it recovers a session.
type interrupting struct {
	store.Store
	cancel context.CancelFunc
}

func (i interrupting) Claim(ctx context.Context, session string) (store.Token, error) {
	i.cancel()
	return i.Store.Claim(ctx, session)
}

// TestRecoveryInterrupted interrupts a start: it ends, and the session is not reported as one that cannot be closed.
func TestRecoveryInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := startIn(t, dir, nil, base(newModel(t)))
	other := startIn(t, dir, nil, base(newModel(t)))
	crashed(t, other)
	other.close()
	ctx, cancel := context.WithCancel(t.Context())
	var logged records
	o := k.opts
	o.Store, o.Logger, o.Plugins = interrupting{k.store, cancel}, logged.logger(), []sdk.Plugin{base(newModel(t))}
	if _, err := host.New(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("New = %v, want that it was interrupted", err)
	}
	if lines := logged.all(); len(lines) > 0 {
		t.Errorf("logged: %q", lines)
	}
}

// TestSessionOfAnotherProcess prompts a session that a live host works on.
func TestSessionOfAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begun, hold := make(chan struct{}), make(chan struct{})
	owner := startIn(t, dir, nil, base(newModel(t, answer{text: "mine", begun: begun, hold: hold})))
	other := startIn(t, dir, nil, base(newModel(t, say("now mine"))))
	id := owner.session()
	done := make(chan error, 1)
	go func() {
		_, err := owner.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
		done <- err
	}()
	<-begun
	var owned *store.OwnedError
	if _, err := other.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"}); !errors.As(err, &owned) || owned.Session != id {
		t.Errorf("Prompt = %v, want a *store.OwnedError for %s", err, id)
	}
	close(hold)
	if err := <-done; err != nil {
		t.Errorf("the owner's turn: %v", err)
	}
	owner.close()
	want(t, "answer once it is free", "now mine", textOf(other.again(id, "go")))
}

// TestAbortBeforeTheTurnBegins aborts while the session is still being read: the first prompt is not run, and no later process finds it in the
// store. That is the prompt of a process that died, if there is one.
func TestAbortBeforeTheTurnBegins(t *testing.T) {
	t.Parallel()
	for _, older := range []int{0, 1} {
		reading, release := make(chan struct{}, 1), make(chan struct{})
		f := &faulty{}
		m := newModel(t, say("the answer"))
		k := faultyKit(t, f, base(m))
		id := k.titled()
		for range older {
			if err := k.store.Submit(t.Context(), store.Prompt{ID: "msg_1", SessionID: id, Data: []byte(`{"sessionID": "` + id + `", "text": "older"}`)}); err != nil {
				t.Fatal(err)
			}
		}
		f.onRead = func() {
			select {
			case reading <- struct{}{}:
				<-release
			default:
			}
		}
		done := make(chan error, 1)
		go func() {
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
			done <- err
		}()
		<-reading
		if !k.Abort(id) {
			t.Error("Abort found nothing to end")
		}
		close(release)
		var te *host.TurnError
		if err := <-done; older == 0 && (!errors.As(err, &te) || te.Named.Name != sdk.ErrorAborted) || older > 0 && err != nil {
			t.Errorf("after %d older prompts, Prompt = %v", older, err)
		}
		if n := len(m.of(sdk.PurposeTurn)); n != older {
			t.Errorf("the model was asked %d times, want %d", n, older)
		}
		if left, err := k.store.Prompts(t.Context(), id); len(left) > 0 || err != nil {
			t.Errorf("%d prompts are left, %v", len(left), err)
		}
	}
}

// TestPromptIsAnsweredOnce has a prompt that the starting runner finds in the store before it is queued.
func TestPromptIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	reading, read := make(chan struct{}), make(chan struct{})
	stored, queue := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f := &faulty{onSubm: func() { close(stored); <-queue }}
	m := newModel(t, say("one"), say("two"))
	k := faultyKit(t, f, base(m))
	id := k.titled()
	f.onRead = func() { once.Do(func() { close(reading); <-read }) }
	send := func(text string) chan string {
		got := make(chan string, 1)
		go func() {
			a, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: text})
			if err != nil {
				t.Error(err)
				a = &sdk.MessageWithParts{}
			}
			got <- textOf(a)
		}()
		return got
	}
	first := send("first")
	<-reading
	second := send("second")
	<-stored
	close(read)
	want(t, "the first answer", "two", <-first)
	close(queue)
	want(t, "the second answer", "two", <-second)
	var prompts int
	for _, p := range k.messages(id) {
		if p.Info.Role() == sdk.RoleUser {
			prompts++
		}
	}
	if n := len(m.of(sdk.PurposeTurn)); prompts != 2 || n != 2 {
		t.Errorf("%d prompts in %d requests, want each of the 2 once", prompts, n)
	}
}

// TestCloseEndsTheTurn closes a host whose turn runs and that has a prompt waiting: both return, the
// waiting prompt is answered by the next host.
func TestCloseEndsTheTurn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begun, hold := make(chan struct{}), make(chan struct{})
	defer close(hold)
	m := newModel(t, answer{text: "never ends", begun: begun, hold: hold})
	k := startIn(t, dir, nil, base(m))
	id := k.titled()
	errs := [2]chan error{make(chan error, 1), make(chan error, 1)}
	prompt := func(i int) {
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
		errs[i] <- err
	}
	go prompt(0)
	<-begun
	go prompt(1)
	for {
		waiting, err := k.store.Prompts(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(waiting) == 1 {
			break
		}
	}
	if err := k.Close(t.Context()); err != nil {
		t.Errorf("Close = %v", err)
	}
	var te *host.TurnError
	if err := <-errs[0]; !errors.As(err, &te) || te.Named.Name != sdk.ErrorAborted {
		t.Errorf("the running prompt = %v, want %s", err, sdk.ErrorAborted)
	}
	if err := <-errs[1]; !errors.Is(err, host.ErrClosed) {
		t.Errorf("the waiting prompt = %v, want %v", err, host.ErrClosed)
	}
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"}); !errors.Is(err, host.ErrClosed) {
		t.Errorf("Prompt after Close = %v, want %v", err, host.ErrClosed)
	}
	if err := k.Close(t.Context()); err != nil {
		t.Errorf("a second Close = %v", err)
	}
	noOpenParts(t, k, id)
	k.close()

	m = newModel(t, say("late"), say("new"))
	k = startIn(t, dir, nil, base(m))
	want(t, "answer", "new", textOf(k.again(id, "hello")))
	want(t, "the conversation", []string{"user: go", "assistant: never ends", "user: go", "assistant: late", "user: hello"}, lines(m.last(sdk.PurposeTurn)))
}

// TestTitleOfDeletedSession has a title arrive after its session was deleted, as a front end does when the server cannot be reached.
func TestTitleOfDeletedSession(t *testing.T) {
	t.Parallel()
	var log records
	hold := make(chan struct{})
	k := start(t, func(o *host.Options) { o.Logger = log.logger() }, base(newModel(t, say("one")).on(sdk.PurposeTitle, answer{text: "Late", hold: hold})))
	id, _ := k.prompt("first")
	if err := k.store.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	close(hold)
	k.close()
	if log.has("not stored") {
		t.Errorf("log = %q, want no error about a session that was deleted", log.all())
	}
}

// TestTitleOutlastsItsTurn has a title that takes longer than its turn and the next one: neither waits for
// it, and it is kept.
func TestTitleOutlastsItsTurn(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	m := newModel(t, say("one"), say("two")).on(sdk.PurposeTitle, answer{text: "Slow title", hold: hold})
	k := start(t, nil, base(m))
	id, _ := k.prompt("first")
	if k.Abort(id) {
		t.Error("Abort found a turn after the answer")
	}
	want(t, "the second answer", "two", textOf(k.again(id, "second")))
	sub := k.Subscribe(64, false)
	close(hold)
	next(t, sub, func(e sdk.Event) bool {
		s, ok := e.Properties.(*sdk.SessionInfo)
		return ok && s.Info.Title == "Slow title"
	})
	s, err := k.Session(t.Context(), id)
	if err != nil || s.Title != "Slow title" {
		t.Errorf("title = %q, %v", s.Title, err)
	}
}

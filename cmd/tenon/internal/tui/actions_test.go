package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/inspect"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/past"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/sdk"
)

func TestWaitingPromptComesBackAsItWas(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a b.png")
	for _, c := range []struct {
		in    host.PromptInput
		text  string
		files []string
	}{
		{in: host.PromptInput{Shell: true, Text: "git push"}, text: "!git push"},
		{in: host.PromptInput{Command: "deploy", Text: "prod"}, text: "/deploy prod"},
		{in: host.PromptInput{Text: "look", Parts: sdk.Parts{&sdk.FilePart{URL: input.FileURL(file)}}}, text: "look", files: []string{file}},
	} {
		m, h := testModel(t, 80, 24)
		m.history = &past.History{}
		m.input.Set("draft")
		cmd := m.startedBy(func() { m.editWaiting(host.Waiting{ID: "one", Input: c.in}) })
		m.Update(cmd())
		text, files := m.input.Text()
		if diff := cmp.Diff([]any{c.text, c.files}, []any{text, files}); diff != "" {
			t.Errorf("-want +have:\n%s", diff)
		}
		if diff := cmp.Diff([]string{"draft"}, m.history.Entries); diff != "" {
			t.Errorf("history (-want +have):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"withdraw one"}, h.list); diff != "" {
			t.Errorf("calls (-want +have):\n%s", diff)
		}
	}
}

func (a *answers) Withdraw(_, id string) error {
	a.list = append(a.list, "withdraw "+id)
	return nil
}

func (a *answers) CreateSession(context.Context, host.NewSession) (*sdk.Session, error) {
	return nil, errors.New("the disk is full")
}

func TestPromptComesBackIfItsSessionIsNotCreated(t *testing.T) {
	t.Parallel()
	for draft, want := range map[string]string{"": "!git push", "another": "another"} {
		m, _ := testModel(t, 80, 24)
		m.o.explain = func(err error) string { return err.Error() }
		m.root = ""
		m.input.Set("!git push")
		_, cmd := m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
		m.input.Set(draft)
		for _, msg := range messages(cmd) {
			m.Update(msg)
		}
		if text, _ := m.input.Text(); text != want || m.creating || m.toast.text != "the disk is full" {
			t.Errorf("input %q, want %q; toast %q, creating %v", text, want, m.toast.text, m.creating)
		}
	}
}

func TestNoPromptThatFailedIsLost(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.o.explain = func(err error) string { return err.Error() }
	fail := func(session, text string) {
		m.prompted(host.PromptInput{SessionID: session, Text: text}, nil, errors.New("refused"))
	}
	have := func() []string {
		text, _ := m.input.Text()
		aside, _ := m.stash.Text()
		return []string{text, aside}
	}
	fail("ses_1", "one")
	fail("ses_1", "two")
	fail("ses_1", "three")
	if diff := cmp.Diff([]string{"one", "two"}, have()); diff != "" {
		t.Errorf("-want +have:\n%s", diff)
	}
	if screen := m.plain(); !strings.Contains(screen, "not sent: two; ctrl+s") || !strings.Contains(screen, "not sent: three; ctrl+r") {
		t.Errorf("the places are not shown:\n%s", screen)
	}
	m.input.Set("")
	m.stash.Set("")
	m.switchTo("")
	fail("ses_1", "of the other session")
	if diff := cmp.Diff([]string{"", "of the other session"}, have()); diff != "" {
		t.Errorf("after /new (-want +have):\n%s", diff)
	}
	m.stash.Set("")
	m.prompted(host.PromptInput{SessionID: "ses_1", Text: "waiting"}, nil, host.ErrWaits)
	if diff := cmp.Diff([]string{"", ""}, have()); diff != "" {
		t.Errorf("a prompt that waits (-want +have):\n%s", diff)
	}
}

func TestEditsAreAcceptedInOneSession(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	on := m.startedBy(m.nextMode)
	m.mode = modeAsk
	off := m.startedBy(m.acceptEdits)
	off() // the commands run in another order
	on()
	if diff := cmp.Diff([]string(nil), h.list); diff != "" {
		t.Errorf("after on and off (-want +have):\n%s", diff)
	}
	m.mode = modeEdits
	m.startedBy(m.acceptEdits)()
	m.switchTo("")
	m.edits.send(h)
	if diff := cmp.Diff([]string{"ses_1 true", "ses_1 false"}, h.list); diff != "" {
		t.Errorf("after /new (-want +have):\n%s", diff)
	}
}

func TestBranchIsBoundedAndSafe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ head, want string }{
		"branch":   {"ref: refs/heads/main\n", "main"},
		"commit":   {"0123456789abcdef\n", "01234567"},
		"controls": {"\x1b[2J\n", `\u{1b}[2`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte(c.head), 0o600); err != nil {
				t.Fatal(err)
			}
			if have := branchOf(dir); have != c.want {
				t.Errorf("branch %q, want %q", have, c.want)
			}
		})
	}
	if len(branchOf(longHead(t))) > maxGitFile {
		t.Error("the whole file was read")
	}
}

func longHead(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte("ref: refs/heads/"+strings.Repeat("x", 10*maxGitFile)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (a *answers) ListModels(context.Context, host.ModelListOptions) ([]host.ModelInfo, error) {
	return []host.ModelInfo{{Model: sdk.Model{ProviderID: "mine", ID: "m1"}, Served: true}}, errors.New("refused s3cret")
}

// A server that does not answer hides no other model.
func TestPickerOfModelsAsksServers(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.o.clean = func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }
	for _, msg := range messages(m.startedBy(func() { m.chooseModel("") })) {
		m.Update(msg)
	}
	if screen := m.plain(); !strings.Contains(screen, "mine/m1") || !strings.Contains(screen, "from the server") {
		t.Errorf("screen:\n%s", screen)
	}
	if want := "not listed by the server: refused ***"; m.toast.text != want {
		t.Errorf("toast %q, want %q", m.toast.text, want)
	}
}

// A turn that the user interrupted is not shown as an error when the session is opened again.
func TestInterruptedTurnInHistory(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	h.stored = &frontend.History{Session: &sdk.Session{ID: "ses_1"}, Messages: []sdk.MessageWithParts{
		{Info: &sdk.AssistantMessage{Error: &sdk.NamedError{Name: sdk.ErrorAborted, Data: sdk.ErrorData{Message: "aborted by the user"}}}},
	}}
	m.Update(m.startedBy(func() { m.load("ses_1") })())
	if screen := m.plain(); !strings.Contains(screen, "interrupted") || strings.Contains(screen, "error:") {
		t.Errorf("screen:\n%s", screen)
	}
}

func (a *answers) History(_ context.Context, session string) (*frontend.History, error) {
	a.list = append(a.list, "history")
	if a.stored != nil {
		return a.stored, nil
	}
	return &frontend.History{Session: &sdk.Session{ID: session}, Messages: []sdk.MessageWithParts{
		{Info: &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: "msg_1"}}, Parts: sdk.Parts{&sdk.TextPart{PartHead: sdk.PartHead{ID: "prt_1", MessageID: "msg_1"}, Text: "the old prompt"}}},
	}}, nil
}

// Events of a session that is being read stay on the screen, such as the prompt that is sent right after undo.
func TestEventsWhileSessionIsRead(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	read := m.startedBy(func() { m.load("ses_1") })()
	m.Update(eventsMsg{
		{Properties: &sdk.MessageInfo{Info: &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: "msg_2", SessionID: "ses_1"}}, SessionID: "ses_1"}},
		{Properties: &sdk.PartInfo{Part: &sdk.TextPart{PartHead: sdk.PartHead{ID: "prt_2", MessageID: "msg_2"}, Text: "the new prompt"}, SessionID: "ses_1"}},
	})
	m.Update(read)
	if screen := m.plain(); !strings.Contains(screen, "the old prompt") || !strings.Contains(screen, "the new prompt") {
		t.Errorf("screen:\n%s", screen)
	}
}

// failingTurn are the events of a turn that fails in the middle of an answer.
func failingTurn() []sdk.Event {
	const session = "ses_1"
	text := func(text string, end sdk.Millis) *sdk.PartInfo {
		return &sdk.PartInfo{SessionID: session, Part: &sdk.TextPart{
			PartHead: sdk.PartHead{ID: "prt_3", MessageID: "msg_3"}, Text: text, Time: &sdk.PartTime{Start: 1, End: end},
		}}
	}
	delta := func(text string) *sdk.PartDelta {
		return &sdk.PartDelta{SessionID: session, MessageID: "msg_3", PartID: "prt_3", Field: "text", Delta: text}
	}
	failure := &sdk.NamedError{Name: sdk.ErrorUnknown, Data: sdk.ErrorData{Message: "the line broke"}}
	answer := func(output int64, e *sdk.NamedError) *sdk.MessageInfo {
		return &sdk.MessageInfo{SessionID: session, Info: &sdk.AssistantMessage{
			MessageHead: sdk.MessageHead{ID: "msg_3"}, Agent: "build", ModelID: "large", Tokens: sdk.Tokens{Input: 10, Output: output}, Error: e,
		}}
	}
	var out []sdk.Event
	for _, p := range []any{
		&sdk.SessionStatusInfo{SessionID: session, Status: sdk.SessionStatus{Type: sdk.StatusBusy}},
		&sdk.MessageInfo{SessionID: session, Info: &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: "msg_2"}}},
		&sdk.PartInfo{SessionID: session, Part: &sdk.TextPart{PartHead: sdk.PartHead{ID: "prt_2", MessageID: "msg_2"}, Text: "the new prompt"}},
		answer(0, nil), text("", 0), delta("one "), delta("two "), delta("three"), text("one two three", 2), answer(7, failure),
		&sdk.SessionErrorInfo{SessionID: session, Error: failure},
		&sdk.SessionStatusInfo{SessionID: session, Status: sdk.SessionStatus{Type: sdk.StatusIdle}},
	} {
		out = append(out, sdk.Event{Properties: p})
	}
	return out
}

// storedAfter returns what is stored when these events are published.
func storedAfter(t *testing.T, events []sdk.Event) *frontend.History {
	t.Helper()
	h, err := (&answers{}).History(t.Context(), "ses_1")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		last := &h.Messages[len(h.Messages)-1]
		switch p := e.Properties.(type) {
		case *sdk.MessageInfo:
			if last.Info.Head().ID == p.Info.Head().ID {
				last.Info = p.Info
			} else {
				h.Messages = append(h.Messages, sdk.MessageWithParts{Info: p.Info})
			}
		case *sdk.PartInfo:
			last.Parts = sdk.Parts{p.Part}
		case *sdk.PartDelta:
			part := *last.Parts[0].(*sdk.TextPart)
			part.Text += p.Delta
			last.Parts = sdk.Parts{&part}
		}
	}
	return h
}

// A session that is read while a turn runs shows the turn once, whenever it is read and however late its events and what was read arrive.
func TestTurnWhileSessionIsRead(t *testing.T) {
	t.Parallel()
	events := failingTurn()
	want := ""
	for begin := range len(events) + 1 {
		for read := begin; read <= len(events); read++ {
			for arrived := begin; arrived <= len(events); arrived++ {
				m, h := testModel(t, 80, 24)
				m.now = func() time.Time { return time.Unix(1, 0) }
				m.Update(m.startedBy(func() { m.load("ses_1") })())
				m.Update(eventsMsg(events[:begin]))
				load := m.startedBy(func() { m.load("ses_1") })
				h.stored = storedAfter(t, events[:read])
				loaded := load()
				m.Update(eventsMsg(events[begin:arrived]))
				m.Update(loaded)
				m.Update(eventsMsg(events[arrived:]))
				screen := m.plain()
				if want == "" {
					want = screen
					for _, text := range []string{"the old prompt", "the new prompt", "one two three", "error: the line broke", "build · large · 0 ms · 10 in, 7 out"} {
						if strings.Count(screen, text) != 1 {
							t.Fatalf("not once: %q:\n%s", text, screen)
						}
					}
				}
				if screen != want {
					t.Fatalf("begun after %d events, read after %d, shown after %d (-want +have):\n%s", begin, read, arrived, cmp.Diff(want, screen))
				}
			}
		}
	}
}

// A turn can be interrupted, and its questions are shown, before its session has been read.
func TestQuestionsWhileSessionIsRead(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.switchTo("ses_9")
	m.Update(eventsMsg{
		{Properties: &sdk.SessionStatusInfo{SessionID: "ses_9", Status: sdk.SessionStatus{Type: sdk.StatusBusy}}},
		{Properties: &sdk.PermissionRequest{ID: "per_1", SessionID: "ses_9", Permission: "bash", Patterns: []string{"ls"}}},
	})
	if !m.main().Busy() || len(m.asks) != 1 {
		t.Errorf("busy %v, %d questions:\n%s", m.main().Busy(), len(m.asks), m.plain())
	}
}

// A turn that removes what was undone does not read the session again: the figures of a turn are its own.
func TestUndoneMessagesLeaveTheStore(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	m.threads["ses_1"].Info.Revert = &sdk.Revert{MessageID: "msg_9"}
	_, cmd := m.Update(eventsMsg{
		{Properties: &sdk.SessionStatusInfo{SessionID: "ses_1", Status: sdk.SessionStatus{Type: sdk.StatusBusy}}},
		{Type: sdk.EventSessionUpdated, Properties: &sdk.SessionInfo{SessionID: "ses_1", Info: sdk.Session{ID: "ses_1"}}},
	})
	run(cmd)
	if slices.Contains(h.list, "history") {
		t.Error("the session is read again in the middle of a turn")
	}
}

func (a *answers) Ledger(context.Context, string) ([]inspect.Explained, error) {
	entries := []hooks.Entry{{Plugin: "p", Reason: "the key is s3cret"}}
	return []inspect.Explained{{Step: 1, MessageID: "msg_1", Entries: entries}, {Step: 2, MessageID: "msg_2", Entries: slices.Repeat(entries, 30)}}, nil
}

func TestLedgerIsMasked(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.o.clean = func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }
	m.Update(m.startedBy(m.openLedger)())
	if screen := m.plain(); strings.Contains(screen, "s3cret") || !strings.Contains(screen, "the key is ***") {
		t.Errorf("the ledger shows a secret:\n%s", screen)
	}
	m.press(']', "]")
	if screen := m.plain(); !strings.Contains(screen, "\n step 2") || strings.Contains(screen, "\n step 1") {
		t.Errorf("] does not go to the next step:\n%s", screen)
	}
}

func TestInterruptedShellLineIsNotStored(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	aborted := &host.TurnError{Named: &sdk.NamedError{Name: sdk.ErrorAborted}}
	m.prompted(host.PromptInput{SessionID: "ses_1", Shell: true, Text: "sleep 50"}, nil, aborted)
	if screen := m.plain(); !strings.Contains(screen, "interrupted") || strings.Contains(screen, "stored") || !strings.Contains(screen, "!sleep 50") {
		t.Errorf("a line that is not part of the session:\n%s", screen)
	}
}

func TestAnswerThatLacksSomething(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]*sdk.MessageWithParts{
		"cut at the model's output limit": {Info: &sdk.AssistantMessage{Finish: sdk.FinishLength}, Parts: sdk.Parts{&sdk.TextPart{Text: "half"}}},
		"without an answer":               {Info: &sdk.AssistantMessage{Finish: sdk.FinishOther}, Parts: sdk.Parts{&sdk.TextPart{}}},
		"":                                {Info: &sdk.AssistantMessage{Finish: sdk.FinishStop}, Parts: sdk.Parts{&sdk.TextPart{Text: "all"}}},
	} {
		m, _ := testModel(t, 80, 24)
		m.prompted(host.PromptInput{SessionID: "ses_1"}, a, nil)
		if screen := m.plain(); !strings.Contains(screen, want) || want == "" && strings.Contains(screen, "get the rest") {
			t.Errorf("no %q on the screen:\n%s", want, screen)
		}
	}
}

func (a *answers) Waiting(string) []host.Waiting { return a.waiting }

// A prompt that begins a turn is in the queue for a moment.
func TestPromptOfAnIdleSessionDoesNotWait(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	h.waiting = []host.Waiting{{ID: "one", Input: host.PromptInput{Text: "the next prompt"}}}
	for busy, status := range map[bool]string{false: sdk.StatusIdle, true: sdk.StatusBusy} {
		m.thread().Status.Type = status
		if screen := m.plain(); strings.Contains(screen, "waits the next prompt") != busy {
			t.Errorf("busy %v:\n%s", busy, screen)
		}
	}
}

// Output of a shell line is shown as that of a tool: without colors and what a progress bar has overwritten.
func TestOutputOfAShellLine(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	h.stored = &frontend.History{Session: &sdk.Session{ID: "ses_1"}, Messages: []sdk.MessageWithParts{
		{Info: &sdk.UserMessage{}, Parts: sdk.Parts{&sdk.TextPart{Text: "$ make\n10 %\r100 %\r\n\x1b[32mok\x1b[0m\x1b]0;title\a"}}},
	}}
	m.Update(m.startedBy(func() { m.load("ses_1") })())
	if screen := m.plain(); !strings.Contains(screen, "┃ $ make\n┃ 100 %\n┃ ok\\u{1b}]0;title\\u{7}\n") {
		t.Errorf("screen:\n%s", screen)
	}
}

// A prompt names only what the user chose: a name counts as the user's choice, which overrides that of a command, and needs no approval.
func TestPromptNamesChoicesOfTheUser(t *testing.T) {
	t.Parallel()
	other := sdk.Agent{Name: "other", Model: &sdk.ModelRef{ProviderID: "b", ModelID: "z"}}
	used := &sdk.SessionModel{ProviderID: "a", ID: "x", Variant: "high"}
	for name, c := range map[string]struct {
		change func(m *model)
		in     host.PromptInput
		shown  string // model and effort
	}{
		"new session":      {func(m *model) { m.root, m.shown = "", "" }, host.PromptInput{}, "a/y "},
		"session":          {func(m *model) { m.main().Info.Agent, m.main().Info.Model = "build", used }, host.PromptInput{Variant: "high"}, "a/x high"},
		"not read yet":     {func(m *model) { m.main().Info = sdk.Session{ID: "ses_1"} }, host.PromptInput{}, "a/y "},
		"agent":            {func(m *model) { m.agent, m.main().Info.Model = "other", used }, host.PromptInput{Agent: "other"}, "b/z "},
		"agent's effort":   {func(m *model) { m.agent, m.main().Info.Agent, m.main().Info.Model = "quick", "build", used }, host.PromptInput{Agent: "quick"}, "a/x "},
		"model":            {func(m *model) { m.modelName, m.main().Info.Model = "a/x", used }, host.PromptInput{Model: "a/x"}, "a/x "},
		"effort":           {func(m *model) { m.effort, m.main().Info.Model = "low", used }, host.PromptInput{Variant: "low"}, "a/x low"},
		"plan":             {func(m *model) { m.mode, m.agent = modePlan, "other" }, host.PromptInput{Agent: sdk.AgentPlan}, "a/y "},
		"agent of session": {func(m *model) { m.main().Info.Agent = "other" }, host.PromptInput{}, "b/z "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := testModel(t, 80, 24)
			m.fallback, m.inventory.agents = "a/y", []sdk.Agent{other, {Name: "quick", Variant: "low"}}
			c.change(m)
			c.in.SessionID = m.root
			if diff := cmp.Diff(c.in, m.promptInput("", nil)); diff != "" {
				t.Errorf("-want +have:\n%s", diff)
			}
			if model, effort := m.modelOf(); model+" "+effort != c.shown {
				t.Errorf("the screen shows %s %s, want %s", model, effort, c.shown)
			}
		})
	}
}

func (a *answers) Agents() []sdk.Agent                             { return nil }
func (a *answers) Models(context.Context) []host.ModelInfo         { return nil }
func (a *answers) CommandInfos(context.Context) []host.CommandInfo { return nil }
func (a *answers) Refresh(context.Context) ([]string, error)       { return a.approved, nil }
func (a *answers) Files(context.Context) ([]string, error)         { return a.files, nil }

func (a *answers) Submit(_ context.Context, in host.PromptInput) (func(context.Context) (*sdk.MessageWithParts, error), error) {
	a.list = append(a.list, fmt.Sprintf("by %s: %s to %s with effort %s", in.Agent, in.Text, in.SessionID, in.Variant))
	for _, p := range in.Parts {
		a.list = append(a.list, fmt.Sprintf("/%s with %s", in.Command, p.(*sdk.FilePart).Filename))
	}
	return nil, errors.New("refused")
}

// The prompt of the command line goes to the session as it is stored, before its messages are read.
func TestPromptOfTheCommandLineKeepsTheEffort(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	m.o.session = &sdk.Session{ID: "ses_2", Agent: "build", Model: &sdk.SessionModel{ProviderID: "a", ID: "x", Variant: "high"}}
	m.o.prompt = host.PromptInput{Text: "hi"}
	run(m.Init())
	if want := "by : hi to ses_2 with effort high"; !slices.Contains(h.list, want) {
		t.Errorf("calls %q, want %q", h.list, want)
	}
}

// Who leaves the plan mode chooses no agent: the agent of a command comes before the default one, and one that was chosen earlier stays.
func TestLeavingThePlanMode(t *testing.T) {
	t.Parallel()
	for chosen, want := range map[string][]string{"": {"build", ""}, sdk.AgentPlan: {"build", ""}, "other": {"other", "other"}} {
		m, h := testModel(t, 80, 24)
		m.inventory.commands = []host.CommandInfo{{Command: sdk.Command{Name: "review", Agent: "reviewer"}}}
		m.main().Info.Agent, m.agent, m.mode = sdk.AgentPlan, chosen, modePlan
		m.nextMode()
		if have := m.promptInput("", nil).Agent; have != want[0] || m.agentName() != want[0] {
			t.Errorf("chosen %q: the prompt goes to %q, the screen shows %q, want %q", chosen, have, m.agentName(), want[0])
		}
		run(m.startedBy(func() { m.runCommand("review", "", nil) }))
		if sent := "by " + want[1] + ":  to ses_1 with effort "; !slices.Contains(h.list, sent) {
			t.Errorf("chosen %q: calls %q, want %q", chosen, h.list, sent)
		}
	}
}

// A command of the configuration takes the attached files. They stay in the input with one of the program, or an unknown one.
func TestCommandsWithFiles(t *testing.T) {
	t.Parallel()
	for text, sent := range map[string]bool{"/review this": true, "/help": false, "/revew": false} {
		m, h := testModel(t, 80, 24)
		m.inventory.commands = []host.CommandInfo{{Command: sdk.Command{Name: "review"}}}
		m.input.Set(text)
		attach(&m.input, "/a.png")
		run(m.startedBy(m.enterPrompt))
		_, files := m.input.Text()
		if slices.Contains(h.list, "/review with a.png") != sent || !sent && (len(h.list) > 0 || !slices.Equal(files, []string{"/a.png"})) {
			t.Errorf("%s: calls %q, the input keeps %q", text, h.list, files)
		}
	}
}

// Undo gives the attached files of a prompt back, too, and redo takes them away again.
func TestUndoGivesFilesBack(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	file := func(path string, mention *sdk.SourceText) *sdk.FilePart {
		return &sdk.FilePart{PartHead: sdk.PartHead{ID: "prt_" + path, MessageID: "msg_2"}, URL: "data:image/png;base64,", Source: &sdk.FileSource{Path: path, Text: mention}}
	}
	m.Update(eventsMsg{
		{Properties: &sdk.MessageInfo{Info: &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: "msg_2", SessionID: "ses_1"}}, SessionID: "ses_1"}},
		{Properties: &sdk.PartInfo{Part: &sdk.TextPart{PartHead: sdk.PartHead{ID: "prt_2", MessageID: "msg_2"}, Text: "compare @b.png"}, SessionID: "ses_1"}},
		{Properties: &sdk.PartInfo{Part: file("/a.png", nil), SessionID: "ses_1"}},
		{Properties: &sdk.PartInfo{Part: file("/b.png", &sdk.SourceText{Value: "@b.png"}), SessionID: "ses_1"}},
	})
	for _, c := range []struct {
		redo bool
		want []string
	}{{false, []string{"compare @b.png", "/a.png"}}, {true, []string{""}}} {
		m.reverted(host.RevertOptions{SessionID: "ses_1", Redo: c.redo}, &host.Reverted{MessageID: "msg_2"}, m.main().Prompts())
		text, files := m.input.Text()
		if diff := cmp.Diff(c.want, append([]string{text}, files...)); diff != "" {
			t.Errorf("-want +have:\n%s", diff)
		}
	}
}

// A prompt of the history or a command of the palette does not discard what the user wrote.
func TestDraftStaysInTheHistory(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	for want, choose := range map[string]func(){
		"earlier":  func() { m.historyPicker().(*dialog.Picker).Choose(dialog.Row{ID: "earlier"}) },
		"/deploy ": func() { m.palette().(*dialog.Picker).Choose(dialog.Row{ID: "deploy", Note: "…"}) },
	} {
		m.history = &past.History{}
		m.input.Set("draft")
		attach(&m.input, "/a b.png")
		run(m.startedBy(choose))
		if text, _ := m.input.Text(); text != want {
			t.Errorf("the input has %q, want %q", text, want)
		}
		if diff := cmp.Diff([]string{`draft @"/a b.png"`}, m.history.Entries); diff != "" {
			t.Errorf("%q: history (-want +have):\n%s", want, diff)
		}
	}
	m.history = &past.History{}
	m.input.Set("")
	attach(&m.input, "/a.png")
	run(m.startedBy(func() { m.replace(&host.PromptInput{Text: "earlier"}) }))
	if diff := cmp.Diff([]string{"@/a.png"}, m.history.Entries); diff != "" {
		t.Errorf("only a file: history (-want +have):\n%s", diff)
	}
}

// A prompt of files alone leaves no empty line in the history.
func TestPromptOfFilesIsNoLine(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	m.o.explain = func(err error) string { return err.Error() }
	attach(&m.input, "/a.png")
	run(m.startedBy(m.enterPrompt))
	if len(h.list) == 0 || len(m.history.Entries) > 0 {
		t.Errorf("calls %q, history %q", h.list, m.history.Entries)
	}
}

// A model without its provider is searched for, because it could not be used.
func TestModelIsFoundByPartOfItsName(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.inventory.models = []host.ModelInfo{{Model: sdk.Model{ProviderID: "a", ID: "large"}}, {Model: sdk.Model{ProviderID: "b", ID: "small"}}}
	m.chooseModel("small")
	m.key(tea.KeyPressMsg{Code: tea.KeyEnter})
	if m.modelName != "b/small" || !strings.Contains(m.toast.text, "tenon config set model b/small") {
		t.Errorf("model %q, toast %q, want b/small", m.modelName, m.toast.text)
	}
}

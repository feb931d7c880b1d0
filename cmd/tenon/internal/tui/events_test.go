package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/past"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/transcript"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// taskEvents show a task of the session, and publish what its subagent does.
func taskEvents(events ...sdk.Event) eventsMsg {
	task := &sdk.ToolPart{PartHead: sdk.PartHead{ID: "prt_1", MessageID: "msg_1"}, Tool: "task", State: sdk.ToolState{
		Status: sdk.ToolCompleted, Metadata: sdk.Object{"sessionId": "ses_2"},
	}}
	return append(eventsMsg{{Properties: &sdk.PartInfo{SessionID: "ses_1", Part: task}}}, events...)
}

// The session of a subagent that ran before the start is read when the user enters it.
func TestSubagentFromBeforeTheStart(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	h.stored = storedAfter(t, nil)
	h.stored.Session.ParentID = "ses_1"
	m.Update(taskEvents())
	m.leader = true
	for _, msg := range messages(m.press(tea.KeyDown, "")) {
		m.Update(msg)
	}
	if screen := m.plain(); !strings.Contains(screen, "subagent's session") || !strings.Contains(screen, "the old prompt") {
		t.Errorf("screen:\n%s", screen)
	}
}

// A copy of a session shows the subagents of the original. Esc returns to the copy.
func TestSubagentOfACopy(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	h.stored = storedAfter(t, nil)
	h.stored.Session.ParentID = "ses_0"
	m.Update(taskEvents())
	for _, msg := range messages(m.startedBy(m.enter)) {
		m.Update(msg)
	}
	if screen := m.plain(); !strings.Contains(screen, "subagent's session") {
		t.Fatalf("screen:\n%s", screen)
	}
	if m.press(tea.KeyEscape, ""); m.shown != "ses_1" {
		t.Errorf("the screen shows %q", m.shown)
	}
}

// A subagent that is resumed after the start asks, and its session is shown from its beginning.
func TestResumedSubagentAsks(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	_, cmd := m.Update(taskEvents(
		sdk.Event{Type: sdk.EventSessionUpdated, Properties: &sdk.SessionInfo{SessionID: "ses_2", Info: sdk.Session{ID: "ses_2", ParentID: "ses_1"}}},
		sdk.Event{Properties: &sdk.PermissionRequest{ID: "per_1", SessionID: "ses_2", Permission: "bash", Patterns: []string{"ls"}}},
	))
	if screen := m.plain(); !strings.Contains(screen, "to run this command?") || !strings.Contains(screen, "in the subagent's session") {
		t.Errorf("no question:\n%s", screen)
	}
	for _, msg := range messages(cmd) {
		m.Update(msg)
	}
	m.answered("per_1") // elsewhere
	m.enter()
	if screen := m.plain(); strings.Contains(screen, "to run this command?") || !strings.Contains(screen, "the old prompt") {
		t.Errorf("the session of the subagent:\n%s", screen)
	}
}

// The record of a notice in the log is not shown too, whichever arrives first.
func TestNoticesAreShownOnce(t *testing.T) {
	t.Parallel()
	notice := eventsMsg{{Properties: &sdk.PluginNotice{Plugin: "noisy", Hook: "chat.params", Message: "skipped: no good"}}}
	record := logMsg("WARN skipped: no good plugin=noisy hook=chat.params")
	for _, order := range [][]tea.Msg{{notice, record}, {record, notice}} {
		m, _ := testModel(t, 80, 24)
		for _, msg := range order {
			m.Update(msg)
		}
		if screen := m.plain(); strings.Count(screen, "skipped: no good") != 1 {
			t.Errorf("not once:\n%s", screen)
		}
		if m.Update(logMsg("WARN another")); !strings.Contains(m.plain(), "another (/log shows all)") {
			t.Errorf("no other record:\n%s", m.plain())
		}
	}
}

// A notice names the plugin once.
func TestNotices(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	for want, p := range map[string]*sdk.PluginNotice{
		"  plugin noisy chat.params: skipped: no good\n": {Plugin: "noisy", Hook: "chat.params", Message: "skipped: no good"},
		"  plugin noisy is skipped: no good\n":           {Plugin: "noisy", Message: "plugin noisy is skipped: no good"},
	} {
		if m.Update(eventsMsg{{Properties: p}}); !strings.Contains(m.plain(), want) {
			t.Errorf("no %q on the screen:\n%s", want, m.plain())
		}
	}
}

// The clock of a turn runs while another session is shown, once for all turns.
func TestClockOfATurnThatIsNotShown(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	status := func(s string) tea.Cmd {
		_, cmd := m.Update(eventsMsg{{Properties: &sdk.SessionStatusInfo{SessionID: "ses_1", Status: sdk.SessionStatus{Type: s}}}})
		return cmd
	}
	tick := func() tea.Cmd {
		_, cmd := m.Update(then(m.tick))
		return cmd
	}
	if status(sdk.StatusBusy) == nil {
		t.Error("no clock at the beginning")
	}
	m.threads["ses_2"] = transcript.New(&sdk.Session{ID: "ses_2"}, &m.look)
	m.root, m.shown = "ses_2", "ses_2"
	if tick() == nil {
		t.Error("the clock stops with another session on the screen")
	}
	status(sdk.StatusIdle)
	if status(sdk.StatusBusy) != nil {
		t.Error("a second clock for the next turn")
	}
	status(sdk.StatusIdle)
	if tick() != nil {
		t.Error("the clock runs without a turn")
	}
}

// Details of a call are shown in full, long lines too.
func TestLongLineOfAnOpenCard(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 60, 24)
	m.Update(eventsMsg{{Properties: &sdk.PartInfo{SessionID: "ses_1", Part: &sdk.ToolPart{
		PartHead: sdk.PartHead{ID: "prt_1", MessageID: "msg_1", SessionID: "ses_1"}, Tool: "bash",
		State: sdk.ToolState{Status: sdk.ToolCompleted, Metadata: map[string]any{"output": strings.Repeat("a ", 99) + "end\n"}},
	}}}})
	if screen := m.plain(); strings.Contains(screen, "end") {
		t.Errorf("the folded card shows the whole line:\n%s", screen)
	}
	m.Update(tea.KeyPressMsg{Code: 'o', Mod: tea.ModCtrl})
	if screen := m.plain(); !strings.Contains(screen, "end") {
		t.Errorf("the open card cuts the line:\n%s", screen)
	}
}

// The user's answers stay visible after the question.
func TestAnswersAreShown(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.Update(eventsMsg{{Properties: &sdk.PartInfo{SessionID: "ses_1", Part: &sdk.ToolPart{
		PartHead: sdk.PartHead{ID: "prt_1", MessageID: "msg_1", SessionID: "ses_1"}, Tool: "question",
		State: sdk.ToolState{Status: sdk.ToolCompleted, Output: "Which database?\n-> SQLite, " + strings.Repeat("because it is small, ", 9) + "I think"},
	}}}})
	if screen := m.plain(); !strings.Contains(screen, "-> SQLite") || !strings.Contains(screen, "I think") {
		t.Errorf("no whole answer:\n%s", screen)
	}
}

// A narrow window shows the whole reason for the choice of the model.
func TestReasonForTheModel(t *testing.T) {
	t.Parallel()
	m := newModel(t.Context(), &answers{}, options{past: &past.History{}})
	m.fallback, m.reason = "offline/offline", strings.Repeat("why ", 30)+"end"
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	if screen := m.plain(); !strings.Contains(screen, "end") {
		t.Errorf("screen:\n%s", screen)
	}
}

// A command that must wait for the turn says so.
func TestCommandsDuringATurn(t *testing.T) {
	t.Parallel()
	if text := explained(fmt.Errorf("session ses_1: %w", host.ErrBusy)); !strings.HasSuffix(text, "or interrupt it") {
		t.Errorf("undo: %s", text)
	}
	m, _ := testModel(t, 80, 24)
	m.main().Status.Type = sdk.StatusBusy
	m.runCommand("compact", "", nil)
	if screen := m.plain(); !strings.Contains(screen, "after this step") {
		t.Errorf("no answer to /compact:\n%s", screen)
	}
}

// A terminal that does not report its size, such as a serial console, has a screen nevertheless.
func TestUnknownSize(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 100, 40)
	_, cmd := m.Update(tea.WindowSizeMsg{})
	for _, msg := range messages(cmd) {
		m.Update(msg)
	}
	if m.width != 80 || m.height != 24 {
		t.Errorf("the screen has %d columns, %d lines", m.width, m.height)
	}
}

// After a summary, the size of the conversation is unknown until the next answer.
func TestContextAfterASummary(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	answer := func(id string, summary bool, completed sdk.Millis) {
		m.Update(eventsMsg{{Properties: &sdk.MessageInfo{SessionID: "ses_1", Info: &sdk.AssistantMessage{
			MessageHead: sdk.MessageHead{ID: id, SessionID: "ses_1"}, Summary: summary, Tokens: sdk.Tokens{Input: 4321}, Time: sdk.MessageTime{Completed: completed},
		}}}})
	}
	shown := func() bool { return strings.Contains(m.plain(), "4.3k") }
	answer("msg_1", false, 1)
	answer("msg_2", true, 0)
	if !shown() {
		t.Error("no size during the summary")
	}
	thread := m.main()
	fill := thread.Read()
	stored := &frontend.History{Session: &thread.Info, Messages: []sdk.MessageWithParts{{Info: thread.Last}}}
	if answer("msg_2", true, 2); shown() {
		t.Error("the size before the summary is shown after it")
	}
	if fill(stored); shown() {
		t.Error("the size before the summary is shown after a read that began before the end of the summary")
	}
	if answer("msg_3", false, 3); !shown() {
		t.Error("no size after the next answer")
	}
}

// The error of a turn that a refused call ended is on the card of the call only.
func TestRefusalIsShownOnce(t *testing.T) {
	t.Parallel()
	const reason = "permission was rejected"
	m, _ := testModel(t, 80, 24)
	for _, p := range []any{
		&sdk.MessageInfo{SessionID: "ses_1", Info: &sdk.AssistantMessage{MessageHead: sdk.MessageHead{ID: "msg_1", SessionID: "ses_1"}}},
		&sdk.PartInfo{SessionID: "ses_1", Part: &sdk.ToolPart{PartHead: sdk.PartHead{ID: "prt_1", MessageID: "msg_1"}, Tool: "bash", State: sdk.ToolState{Status: sdk.ToolError, Error: reason}}},
		&sdk.SessionErrorInfo{SessionID: "ses_1", Error: &sdk.NamedError{Name: sdk.ErrorUnknown, Data: sdk.ErrorData{Message: reason}}},
		&sdk.SessionErrorInfo{SessionID: "ses_1", Error: &sdk.NamedError{Name: sdk.ErrorUnknown, Data: sdk.ErrorData{Message: "another"}}},
	} {
		m.Update(eventsMsg{{Properties: p}})
	}
	if screen := m.plain(); strings.Count(screen, reason) != 1 || !strings.Contains(screen, "error: another") {
		t.Errorf("screen:\n%s", screen)
	}
}

func (a *answers) Compact(context.Context, string, string) error {
	return &host.TurnError{Named: &sdk.NamedError{Name: sdk.ErrorUnknown}, Err: errors.New("the server refused")}
}

// An event shows the error of a failed summary in the session, so it is not repeated above the input.
func TestFailedSummaryIsShownOnce(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.o.explain, m.o.remedy = error.Error, func(error) string { return "choose another model" }
	for _, msg := range messages(m.startedBy(m.compact)) {
		m.Update(msg)
	}
	if screen := m.plain(); strings.Contains(screen, "the server refused") || !strings.Contains(screen, "choose another model") {
		t.Errorf("screen:\n%s", screen)
	}
}

// A narrow window shows when the next attempt begins, and how to end the wait.
func TestWaitForAnAttempt(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 60, 20)
	m.Update(eventsMsg{{Properties: &sdk.SessionStatusInfo{SessionID: "ses_1", Status: sdk.SessionStatus{
		Type: sdk.StatusRetry, Attempt: 1, Message: strings.Repeat("the server is overloaded ", 20), Next: m.now().UnixMilli(),
	}}}})
	if screen := m.plain(); !strings.Contains(screen, "next in 1 s") || !strings.Contains(screen, "esc interrupts") {
		t.Errorf("screen:\n%s", screen)
	}
}

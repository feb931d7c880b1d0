package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/transcript"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// Lists show names from elsewhere as text, each on one line.
func TestListsShowAnyName(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.inventory.agents = []sdk.Agent{{Name: "build"}, {Name: "a\x1b[2J\rb\nc", Description: "d\x1b]0;x\a"}}
	check := func(what string) {
		t.Helper()
		lines, _ := m.screen()
		screen := terminal.StripSGR(strings.Join(lines, "\n"))
		if len(lines) != 24 || strings.ContainsAny(screen, "\x1b\r\a") || !strings.Contains(screen, `a\u{1b}[2J\u{d}b c`) || !strings.Contains(screen, `d\u{1b}]0;x`) {
			t.Errorf("%s: %d lines\n%q", what, len(lines), screen)
		}
	}
	m.input.Insert("@a")
	m.menu.update(m)
	check("menu")
	m.input.Set("")
	m.chooseAgent()
	check("picker")
}

// The keys of the list of sessions fit the usual width.
func TestKeysOfTheSessionListFit(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.open(m.sessionPicker(nil))
	if screen := m.plain(); !strings.Contains(screen, "ctrl+t pin · enter · esc close") {
		t.Errorf("the keys are cut:\n%s", screen)
	}
}

// Deleting a session takes two keys for it, also right after another one was deleted.
func TestEachDeletionIsConfirmed(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	m.open(m.sessionPicker([]store.Listed{{ID: "ses_a"}, {ID: "ses_b"}}))
	ctrlD := func() []tea.Msg { // what the key starts ends later
		return messages(m.startedBy(func() { m.key(tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl}) }))
	}
	ctrlD()
	deleted := ctrlD()
	ctrlD() // the list still has the session
	for _, msg := range deleted {
		m.Update(msg)
	}
	ctrlD()
	if want := "[delete ses_a]"; fmt.Sprint(h.list) != want {
		t.Errorf("calls %v, want %v", h.list, want)
	}
	ctrlD()
	if want := "[delete ses_a delete ses_b]"; fmt.Sprint(h.list) != want {
		t.Errorf("calls %v, want %v", h.list, want)
	}
}

// A title is stored as the user wrote it, on one line.
func TestRenameKeepsTheTitle(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	m.open(m.sessionPicker([]store.Listed{{ID: "ses_a", Title: "\U0001f469\u200d\U0001f467 one"}}))
	m.key(tea.KeyPressMsg{Code: 'r', Mod: tea.ModCtrl})
	m.paste("\ntwo")
	messages(m.press(tea.KeyEnter, ""))
	if want := "title \U0001f469\u200d\U0001f467 one two"; len(h.list) != 1 || h.list[0] != want {
		t.Errorf("calls %q, want %q", h.list, want)
	}
}

// A search finds a line, also one in the middle of a long item, and scrolls to it.
func TestFind(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	text := ""
	for i := range 99 {
		text += fmt.Sprintf("line %d\n", i)
	}
	for range 3 {
		m.main().Notice(transcript.Faint, text)
	}
	m.View()
	m.runCommand("find", "line 42", nil)
	if screen := m.plain(); !strings.Contains(screen, "3 of 297") {
		t.Errorf("found:\n%s", screen)
	}
	m.press(tea.KeyEnter, "")
	if screen := m.plain(); !strings.Contains(screen, "line 42") || m.main().List.Following() {
		t.Errorf("did not scroll to the line:\n%s", screen)
	}
}

// A search of a very long session is limited, and says so.
func TestFindInTheLatestLines(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.main().Notice(transcript.Faint, "early")
	m.main().Notice(transcript.Faint, strings.Repeat("late\n", maxSearched))
	m.runCommand("find", "early", nil)
	if screen := m.plain(); !strings.Contains(screen, "Find in the latest lines  0 of 50000") {
		t.Errorf("found:\n%s", screen)
	}
}

// A new session keeps the model and the agent that the user chose; another session has its own.
func TestNewSessionKeepsTheModel(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.agent, m.effort = "explore", "high"
	m.modelName = "b/small"
	m.switchTo("")
	if m.modelName != "b/small" || m.agent != "explore" || m.effort != "high" {
		t.Errorf("new session: model %q, agent %q, effort %q", m.modelName, m.agent, m.effort)
	}
	m.switchTo("ses_9")
	if m.modelName != "" || m.agent != "" || m.effort != "" {
		t.Errorf("another session: model %q, agent %q, effort %q", m.modelName, m.agent, m.effort)
	}
	m.main().Info.Model = &sdk.SessionModel{ProviderID: "b", ID: "thinker"}
	m.effort, m.fallback = "high", "b/small"
	m.switchTo("")
	if name, effort := m.modelOf(); name != "b/small" || effort != "" {
		t.Errorf("new session after one with another model: model %q, effort %q", name, effort)
	}
}

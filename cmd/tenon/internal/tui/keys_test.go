package tui

import (
	"cmp"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/transcript"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// press presses a key when questions take it.
func (m *model) press(key rune, text string) tea.Cmd {
	m.frontAt = time.Time{}
	m.key(tea.KeyPressMsg{Code: key, Text: text})
	return m.started()
}

// question asks a question of the model.
func (m *model) question(q sdk.Question) {
	m.Update(eventsMsg{{Properties: &sdk.QuestionRequest{ID: "que_1", SessionID: "ses_1", Questions: []sdk.Question{q}}}})
}

func TestBackslashEnterKeepsAPaste(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.paste(strings.Repeat("line\n", 20) + `ends in \`)
	m.input.Insert(` and \`)
	m.press(tea.KeyEnter, "")
	if screen := m.plain(); !strings.Contains(screen, "[Pasted 21 lines] and") {
		t.Errorf("a new line unfolded the paste:\n%s", screen)
	}
	if text, _ := m.input.Text(); !strings.HasSuffix(text, `ends in \ and `+"\n") {
		t.Errorf("the prompt ends in %q", text[max(0, len(text)-20):])
	}
	m.input.Key("backspace")
	if strings.HasSuffix(m.input.Before(), `\`) {
		t.Error("the backslash is still there")
	}
}

// A prompt that is not sent stays as it was written.
func TestUnknownCommandKeepsAPaste(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.input.Insert("/nothing ")
	m.paste(strings.Repeat("line\n", 20))
	m.press(tea.KeyEnter, "")
	if screen := m.plain(); !strings.Contains(screen, "› /nothing [Pasted 20 lines]") {
		t.Errorf("screen:\n%s", screen)
	}
}

// A key for the prompt closes the menu if it changes the text: the choices are those of another text.
func TestMenuIsOfTheText(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	typed := func() {
		for _, r := range "/mo" {
			m.press(r, string(r))
		}
		if screen := m.plain(); !strings.Contains(screen, "choose the model") {
			t.Errorf("no menu:\n%s", screen)
		}
	}
	typed()
	m.key(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	if screen := m.plain(); strings.Contains(screen, "choose the model") {
		t.Errorf("the menu of a text that was cleared:\n%s", screen)
	}
	m.press(tea.KeyTab, "")
	if !m.input.Empty() {
		t.Errorf("tab inserted %q", m.input.Before())
	}
	typed()
	m.press(tea.KeyTab, "")
	if have := m.input.Before(); have != "/model " {
		t.Errorf("tab completed to %q", have)
	}
}

func TestPasteThatEndsInABackslashIsSent(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.paste(strings.Repeat("line\n", 20) + `C:\`)
	m.forgets = true
	if m.press(tea.KeyEnter, ""); !m.input.Empty() {
		t.Error("enter did not send the prompt")
	}
}

func TestSuspendDuringAQuestion(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.request(&sdk.PermissionRequest{ID: "per_1", Permission: "bash", Patterns: []string{"ls"}})
	cmd := m.startedBy(func() { m.key(tea.KeyPressMsg{Code: 'z', Mod: tea.ModCtrl}) })
	if cmd == nil || runtime.FuncForPC(reflect.ValueOf(cmd).Pointer()).Name() != runtime.FuncForPC(reflect.ValueOf(tea.Suspend).Pointer()).Name() {
		t.Error("ctrl+z does not return to the shell")
	}
}

func TestLongAnswerLeavesRoomForItsQuestion(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.question(sdk.Question{Question: "Which one?", Options: []sdk.QuestionOption{{Label: "One"}, {Label: "Two"}}})
	m.press(tea.KeyUp, "")
	m.paste(strings.Repeat("line\n", 60) + "end")
	lines, caret := m.screen()
	if screen := m.plain(); !strings.Contains(screen, "Which one?") || !strings.Contains(screen, "Two") {
		t.Errorf("the answer hides the question:\n%s", screen)
	}
	if caret == nil || caret.Y >= len(lines) || !strings.Contains(lines[caret.Y], "end") {
		t.Errorf("the caret is at %v, not at the end of the answer", caret)
	}
}

func TestLongQuestionOfTheModelScrolls(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	text := "the beginning"
	for i := range 60 {
		text += fmt.Sprintf("\nparagraph %d.", i)
	}
	m.question(sdk.Question{Question: text + "\nthe end", Options: []sdk.QuestionOption{{Label: "One"}, {Label: "Two"}}})
	if screen := m.plain(); !strings.Contains(screen, "the beginning") || !strings.Contains(screen, "Two") || !strings.Contains(screen, "pgdn") {
		t.Errorf("not the beginning:\n%s", screen)
	}
	for range 20 {
		m.press(tea.KeyPgDown, "")
		m.plain()
	}
	if screen := m.plain(); !strings.Contains(screen, "the end") || !strings.Contains(screen, "Two") {
		t.Errorf("not the end:\n%s", screen)
	}
}

// A server describes the values of a field as long as it likes; its question and the place for the answer stay on the screen.
func TestLongNoteOfAFormScrolls(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.question(sdk.Question{Form: &sdk.FormField{Label: "Name", Message: "MCP server shop: Who are you?", Note: strings.Repeat("a long pattern ", 300) + "END"}})
	m.press('x', "x")
	if screen := m.plain(); !strings.Contains(screen, "Who are you?") || !strings.Contains(screen, "› x") {
		t.Errorf("the note hides the question or the answer:\n%s", screen)
	}
	for range 20 {
		m.press(tea.KeyPgDown, "")
		m.plain()
	}
	if screen := m.plain(); !strings.Contains(screen, "END") {
		t.Errorf("not the end of the note:\n%s", screen)
	}
}

func TestLongListOfAFormScrolls(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	field := sdk.Question{Form: &sdk.FormField{Label: "Country", Message: "Where?"}}
	for i := range 60 {
		field.Options = append(field.Options, sdk.QuestionOption{Label: fmt.Sprintf("option %d.", i)})
	}
	m.question(field)
	for i := range field.Options {
		if screen := m.plain(); !strings.Contains(screen, fmt.Sprintf("option %d.", i)) {
			t.Fatalf("option %d is current and not on the screen:\n%s", i, screen)
		}
		m.press(tea.KeyDown, "")
	}
}

// The line of an option may be cut, but the current option can be read in full.
func TestLongOptionIsShownInFull(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 60, 24)
	m.question(sdk.Question{Question: "Which one?", Options: []sdk.QuestionOption{
		{Label: "One"}, {Label: "Two", Description: strings.Repeat("a description ", 8) + "END"},
	}})
	m.press(tea.KeyDown, "")
	if screen := m.plain(); !strings.Contains(screen, "2. Two") || !strings.Contains(screen, "END") {
		t.Errorf("the current option is cut:\n%s", screen)
	}
}

func TestPasteDoesNotAnswer(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	m.request(&sdk.PermissionRequest{ID: "per_1", Permission: "bash", Patterns: []string{"ls"}})
	m.frontAt = time.Time{} // keys answer
	m.Update(tea.PasteMsg{Content: "a text for the prompt"})
	m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	if len(m.asks) != 1 || len(h.list) != 0 {
		t.Errorf("the key after a paste answered: %v", h.list)
	}
	m.press('m', "m")
	m.frontAt = time.Time{}
	m.Update(tea.PasteMsg{Content: "a reason"})
	if screen := m.plain(); !strings.Contains(screen, "› a reason") {
		t.Errorf("the reason cannot be pasted:\n%s", screen)
	}
}

// A question that interrupts the user takes nothing away from his prompt. Without a prompt, a key was meant for the question, too early.
func TestPromptGoesOnBehindAQuestion(t *testing.T) {
	t.Parallel()
	m, now, press := yesModel(t)
	write := func(text string) {
		for _, r := range text {
			m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	ask := func(id string) {
		*now = now.Add(longTurn)
		m.request(&sdk.PermissionRequest{ID: id, Permission: "bash", Patterns: []string{"ls"}})
	}
	prompt := func(want string) {
		t.Helper()
		if text, _ := m.input.Text(); text != want {
			t.Errorf("the prompt is %q, want %q", text, want)
		}
	}
	ask("per_1")
	press(0, "")
	prompt("")
	press(startled, "per_1 once")
	ask("per_2")
	*now = now.Add(startled)
	m.Update(tea.PasteMsg{Content: "try "})
	press(startled, "per_1 once, per_2 once")
	write("th")
	m.request(&sdk.PermissionRequest{ID: "per_3", Permission: "bash", Patterns: []string{"ls"}})
	write("is")
	press(startled, "per_1 once, per_2 once, per_3 once")
	ask("per_4")
	press(0, "per_1 once, per_2 once, per_3 once")          // too early; the user was not writing
	press(startled/2, "per_1 once, per_2 once, per_3 once") // nor at the second key
	*now = now.Add(startled)
	write(" way")
	press(startled, "per_1 once, per_2 once, per_3 once, per_4 once")
	prompt("try this way")
}

// Up reaches the prompts before one of several lines. One key leaves a long paste, in both directions. Once it was edited, the keys move through its
// lines.
func TestLinesOfPromptsInTheHistory(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	long, wide := strings.Repeat("line\n", 99)+"end", strings.Repeat("word ", 999)
	m.history.Entries = []string{"first", long, wide, "two\nlines"}
	for _, c := range []struct {
		key  rune
		want string
	}{
		{tea.KeyUp, "two\nlines"}, {tea.KeyUp, "two\nlines"}, {tea.KeyUp, wide}, {tea.KeyUp, long}, {tea.KeyUp, "first"}, {tea.KeyDown, long},
		{tea.KeyBackspace, long[:len(long)-1]}, {tea.KeyUp, long[:len(long)-1]},
	} {
		m.View() // breaks the prompt into lines
		m.press(c.key, "")
		if text, _ := m.input.Text(); text != c.want {
			t.Fatalf("after %v, the prompt is %.20q, want %.20q", c.key, text, c.want)
		}
	}
}

func TestTextIsTheOwnAnswer(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*model){
		"typed": func(m *model) {
			for _, r := range "blue 2" {
				m.press(r, string(r))
			}
		},
		"pasted": func(m *model) {
			m.frontAt = time.Time{}
			m.paste("blue 2")
		},
	} {
		m, h := testModel(t, 80, 24)
		m.question(sdk.Question{Question: "Which color?", Options: []sdk.QuestionOption{{Label: "Red"}, {Label: "Green"}}})
		write(m)
		run(m.press(tea.KeyEnter, ""))
		if want := []string{"que_1 [[blue 2]]"}; !slices.Equal(h.list, want) {
			t.Errorf("%s: answers %q, want %q", name, h.list, want)
		}
	}
}

// Enter takes the default, as an empty answer does.
func TestDefaultOfAQuestion(t *testing.T) {
	t.Parallel()
	options := []sdk.QuestionOption{{Label: "Red"}, {Label: "Green"}, {Label: "Blue"}}
	for want, q := range map[string]sdk.Question{
		"que_1 [[Green]]":      {Options: options, Default: []string{"Green"}},
		"que_1 [[Green Blue]]": {Options: options, Multiple: true, Default: []string{"Green", "Blue"}},
		"que_1 [[Red]]":        {Options: options, Multiple: true},
		"que_1 [[]]":           {Options: options, Multiple: true, Optional: true},
	} {
		m, h := testModel(t, 80, 24)
		m.question(q)
		if run(m.press(tea.KeyEnter, "")); !slices.Equal(h.list, []string{want}) {
			t.Errorf("answers %q, want %q", h.list, want)
		}
	}
}

func TestUsualKeys(t *testing.T) {
	t.Parallel()
	for want, k := range map[string]tea.KeyPressMsg{
		"esc":         {Code: '[', Mod: tea.ModCtrl},
		"tab":         {Code: 'i', Mod: tea.ModCtrl},
		"enter":       {Code: 'm', Mod: tea.ModCtrl},
		"shift+enter": {Code: tea.KeyEnter, Mod: tea.ModShift},
		"ctrl+c":      {Code: 'с', BaseCode: 'c', Mod: tea.ModCtrl}, // Cyrillic
		"ctrl+e":      {Code: 'e', BaseCode: 'd', Mod: tea.ModCtrl}, // Dvorak
		"с":           {Code: 'с', BaseCode: 'c', Text: "с"},
	} {
		if have := dialog.Usual(k).String(); have != want {
			t.Errorf("%v is %q, want %q", k.Key(), have, want)
		}
	}
}

// Esc interrupts a turn, even if a slow connection delivers it twice at the same moment: the terminal library then reports alt+esc.
func TestEscapeTwiceInterrupts(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	m.main().Status.Type = sdk.StatusBusy
	_, cmd := m.Update(tea.KeyPressMsg{Code: tea.KeyEscape, Mod: tea.ModAlt})
	if run(cmd); fmt.Sprint(h.list) != "[abort ses_1]" {
		t.Errorf("calls %v", h.list)
	}
}

// A click below the conversation hits nothing. The wheel scrolls the conversation only while no dialog covers it.
func TestMouse(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	for i := range 50 {
		m.main().Notice(transcript.Faint, fmt.Sprint(i))
	}
	m.View()
	m.Update(tea.MouseClickMsg{Button: tea.MouseLeft, Y: 23})
	up := tea.MouseWheelMsg{Button: tea.MouseWheelUp}
	for _, c := range []struct {
		title string // of a dialog
		want  bool
	}{{"Help", true}, {"", false}} {
		if m.dialogs = nil; c.title != "" {
			m.open(&dialog.Picker{Title: c.title})
		}
		m.Update(up)
		if m.main().List.Following() != c.want {
			t.Errorf("with the dialog %q, the end of the conversation is shown: %v, want %v", c.title, !c.want, c.want)
		}
	}
}

// Dragging, which selects nothing, shows how to select text.
func TestDraggingExplainsSelection(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	if m.Update(tea.MouseMotionMsg{Button: tea.MouseLeft}); !strings.Contains(m.plain(), "ctrl+x k") {
		t.Errorf("no hint:\n%s", m.plain())
	}
}

// The title of the window says whether the conversation works, asks or rests.
func TestTitleShowsTheState(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	titles := []string{m.View().WindowTitle}
	m.main().Status.Type = sdk.StatusBusy
	titles = append(titles, m.View().WindowTitle)
	m.request(&sdk.PermissionRequest{ID: "per_1", Permission: "bash", Patterns: []string{"ls"}})
	if titles = append(titles, m.View().WindowTitle); !slices.Equal(titles, []string{"tenon", "● tenon", "? tenon"}) {
		t.Errorf("titles %q", titles)
	}
}

// The key that is named for scrolling down does that, even while Esc interrupts the turn.
func TestKeyForScrollingDown(t *testing.T) {
	t.Parallel()
	for key, status := range map[string]string{"esc": sdk.StatusIdle, "ctrl+alt+g": sdk.StatusBusy} {
		m, h := testModel(t, 80, 24)
		for i := range 50 {
			m.main().Notice(transcript.Faint, fmt.Sprint(i))
		}
		m.main().Status.Type = status
		m.View()
		m.press(tea.KeyPgUp, "")
		if screen := m.plain(); !strings.Contains(screen, "more below ("+key+")") {
			t.Errorf("%s: the screen does not name %s:\n%s", status, key, screen)
		}
		if key == "esc" {
			run(m.press(tea.KeyEscape, ""))
		} else {
			_, cmd := m.Update(tea.KeyPressMsg{Code: 'g', Mod: tea.ModCtrl | tea.ModAlt})
			run(cmd)
		}
		if !m.main().List.Following() || len(h.list) > 0 {
			t.Errorf("%s: %s does not scroll down; calls %v", status, key, h.list)
		}
		m.press(tea.KeyPgUp, "")
		m.request(&sdk.PermissionRequest{ID: "per_1", Permission: "bash", Patterns: []string{"ls"}})
		if screen := m.plain(); !strings.Contains(screen, "more below") || strings.Contains(screen, key+")") {
			t.Errorf("%s: with a question that does not know the key, the screen is\n%s", status, screen)
		}
	}
}

// A file whose name cannot be written bare is completed in quotes, after the beginning of its name with or without a quote.
func TestMenuQuotesNames(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"see @notes": `see @"my notes, v2.md" `, `see @"my no`: `see @"my notes, v2.md" `, `@"my notes, v2.md" and @mai`: `@"my notes, v2.md" and @main.go `,
		"@lib": "@lib/", "@old": `@"old lib/" `, "@hid": "@hid", "@bad": "@bad", // of the latter, another name would be inserted
	} {
		m, _ := testModel(t, 80, 24)
		m.files = []string{"main.go", "my notes, v2.md", "lib/", "old lib/", `no "one" can't`, "\u202ehidden", "bad\xff"}
		m.write("", typed)
		m.key(tea.KeyPressMsg{Code: tea.KeyTab})
		if text, _ := m.input.Text(); text != want {
			t.Errorf("%s is completed to %s, want %s", typed, text, want)
		}
	}
}

// The menu after @ has the files that were created since the last turn.
func TestMenuHasNewFiles(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	m.files, h.files = []string{"old.go"}, []string{"new.go", "old.go"}
	load := m.startedBy(func() { m.write("@", "@") })
	m.write("n", "n")
	for _, msg := range messages(load) {
		m.Update(msg)
	}
	if screen := m.plain(); !strings.Contains(screen, "new.go") {
		t.Errorf("screen:\n%s", screen)
	}
}

// An @ inside a word, as in an address of e-mail, names no file.
func TestOnlyMentionsReadTheFiles(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	h.files = []string{"new.go"}
	for _, c := range []struct {
		before string
		reads  bool
	}{{"", true}, {"see ", true}, {"me\n", true}, {"me", false}, {`"`, false}} {
		m.files = nil
		m.input.Set(c.before)
		for _, msg := range messages(m.startedBy(func() { m.write("@", "@") })) {
			m.Update(msg)
		}
		if (m.files != nil) != c.reads {
			t.Errorf("%q, then @: the files are read: %v", c.before, !c.reads)
		}
	}
}

// New files neither move the user's choice in the menu nor open it for a prompt from the history.
func TestNewFilesKeepTheMenu(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(m *model)
		chosen    string
	}{
		"moved":    {func(m *model) { m.menuKey("down") }, "two.go"},
		"recalled": {func(m *model) { m.input.Set("see @one.go") }, ""},
	} {
		m, h := testModel(t, 80, 24)
		m.files, h.files = []string{"one.go", "two.go"}, []string{"new.go", "one.go", "two.go"}
		load := m.startedBy(func() { m.write("@", "@") })
		c.meanwhile(m)
		for _, msg := range messages(load) {
			m.Update(msg)
		}
		chosen := ""
		if m.menu.open(m) {
			chosen = m.menu.rows[m.menu.at].label
		}
		if chosen != c.chosen || !slices.Equal(m.files, h.files) {
			t.Errorf("%s: the menu chooses %q, want %q; files %q", name, chosen, c.chosen, m.files)
		}
	}
}

// Tab takes words with the form of a mention only if plugins complete them. It inserts what a prompt can express.
func TestTabAfterMentions(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]struct{ text, agent string }{
		"see @shop:no":       {"see @shop:note://alpha ", ""},
		"see @main.go:12":    {"see @main.go:12", "plan"},
		"/deploy @shop:no":   {"/deploy @shop:note://alpha ", ""},
		"/deploy @team:x":    {"/deploy @team:xenon ", ""},
		"/deploy @other:x":   {"/deploy @other:x", ""},
		"/unknown @main.go:": {"/unknown @main.go:", "plan"},
	} {
		m, h := testModel(t, 80, 24)
		m.inventory.agents = []sdk.Agent{{Name: "build"}, {Name: "plan"}}
		m.inventory.commands = []host.CommandInfo{{Command: sdk.Command{Name: "deploy"}}}
		h.suggested = map[string][]string{
			"@ @shop:no":     {"@shop:note://alpha", "@shop:", "@shop:note://a b", "@shop:note://a.", "@shop:no,b", "@shop:note://a\u200bb"},
			"deploy @team:x": {"@team:xenon"},
		}
		m.input.Set(typed)
		for _, msg := range messages(m.startedBy(func() { m.promptKey("tab", "") })) {
			m.Update(msg)
		}
		if text, _ := m.input.Text(); text != want.text || m.agent != want.agent {
			t.Errorf("%s: the prompt is %q, the agent %q, want %q", typed, text, m.agent, want)
		}
	}
}

// A command of the program hides those of the same name, also those with the name of an alias: it is the one that runs.
func TestHiddenCommandsAreNotListed(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 200)
	for _, name := range []string{"undo", "resume", "mine"} {
		m.inventory.commands = append(m.inventory.commands, host.CommandInfo{Command: sdk.Command{Name: name, Description: "about " + name}})
	}
	for name, d := range map[string]dialog.Dialog{"palette": m.palette(), "help": m.helpScreen()} {
		m.open(d)
		m.dialogs[0].Paste("about")
		if screen := m.plain(); strings.Contains(screen, "about undo") || strings.Contains(screen, "about resume") || !strings.Contains(screen, "about mine") {
			t.Errorf("%s:\n%s", name, screen)
		}
		m.close(d)
	}
}

// Names in wide characters are not cut while there is room.
func TestMenuShowsWideNames(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.files = []string{"日本語の資料.txt"}
	m.press('@', "@")
	if screen := m.plain(); !strings.Contains(screen, m.files[0]) {
		t.Errorf("screen:\n%s", screen)
	}
}

// A mark without a command is not sent to the model.
func TestEmptyShellLine(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	m.input.Insert("! ")
	attach(&m.input, "/p/a.png")
	run(m.press(tea.KeyEnter, ""))
	screen := m.plain()
	if _, files := m.input.Text(); !strings.Contains(screen, "write a shell command") || !strings.Contains(screen, "› !") || len(files) != 1 || len(h.list) > 0 {
		t.Errorf("calls %v, files %v:\n%s", h.list, files, screen)
	}
}

// The mode after the agent plan is to ask, also if the agent is that of a resumed session, the user's choice or the default one: never to accept edits.
func TestModeAfterTheAgentPlan(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(m *model, h *answers){
		"session": func(m *model, _ *answers) { m.main().Info.Agent = sdk.AgentPlan },
		"chosen":  func(m *model, _ *answers) { m.agent = sdk.AgentPlan },
		"default": func(_ *model, h *answers) { h.config.DefaultAgent = sdk.AgentPlan },
		"chosen again": func(m *model, _ *answers) {
			m.main().Info.Agent, m.agent, m.left = sdk.AgentPlan, sdk.AgentPlan, true
		},
	} {
		m, h := testModel(t, 80, 24)
		set(m, h)
		m.nextMode()
		sent := cmp.Or(m.promptInput("", nil).Agent, m.main().Info.Agent, h.config.DefaultAgent, sdk.AgentBuild)
		if m.mode != modeAsk || m.agentName() != sdk.AgentBuild || sent != sdk.AgentBuild {
			t.Errorf("%s: mode %v, agent %q, the prompt goes to %q", name, m.mode, m.agentName(), sent)
		}
		if m.nextMode(); m.mode != modeEdits {
			t.Errorf("%s: then mode %v", name, m.mode)
		}
	}
}

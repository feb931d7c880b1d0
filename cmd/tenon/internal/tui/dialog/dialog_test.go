package dialog_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

// source makes dialogs with any contents.
type source struct{ *rand.Rand }

func (r source) text(words int) string {
	all := []string{"a", "日本", "long-word-here", "\n", "x\ty", "👩‍💻", strings.Repeat("w", 90)}
	var out []string
	for range r.IntN(words) {
		out = append(out, all[r.IntN(len(all))])
	}
	return terminal.Visible(strings.Join(out, " "))
}

func (r source) yes() bool { return r.IntN(2) == 0 }

func (r source) questions() *dialog.Questions {
	var list []sdk.Question
	for range 1 + r.IntN(3) {
		q := sdk.Question{Question: r.text(80), Multiple: r.yes(), Optional: r.yes()}
		for range r.IntN(30) {
			q.Options = append(q.Options, sdk.QuestionOption{Label: r.text(4), Description: r.text(3)})
		}
		if custom := r.yes(); r.yes() {
			q.Custom = &custom
		}
		if r.yes() {
			q.Form = &sdk.FormField{Label: r.text(3), Message: r.text(30), Note: r.text(30), Problem: r.text(30)}
		}
		list = append(list, q)
	}
	return dialog.NewQuestions(&sdk.QuestionRequest{Questions: list}, func([][]string) {})
}

func (r source) dialog(show func(dialog.Dialog)) dialog.Dialog {
	switch r.IntN(5) {
	case 0:
		return &dialog.Pager{Title: terminal.OneLine(r.text(9)), Diff: "--- a\n+++ b\n@@ -1 +1 @@\n+" + r.text(60)}
	case 1:
		asked := view.Asked{Question: terminal.OneLine(r.text(60)), Notes: []string{terminal.OneLine(r.text(30))}, Body: r.text(99), Always: r.text(9)}
		return dialog.NewPermission(asked, func(sdk.Reply, string) {}, func() {}, show)
	case 2:
		return r.questions()
	case 3:
		p := &dialog.Picker{Title: r.text(9), Empty: "this list is empty until something is added to it", Choose: func(dialog.Row) {}}
		for i := range r.IntN(40) {
			p.Rows = append(p.Rows, dialog.Row{ID: fmt.Sprint(i), Label: r.text(6), Note: r.text(3), Current: r.IntN(9) == 0})
		}
		return p
	}
	l := &dialog.Line{Title: terminal.OneLine(r.text(9)), Secret: r.yes(), Label: terminal.OneLine(r.text(9)), Lines: []string{terminal.OneLine(r.text(60)), "end"}}
	if r.yes() {
		l.Done = func(string) {}
	}
	return l
}

// Dialogs with any contents, keys and sizes stay in their part of the screen, with the caret.
func TestDialogsFit(t *testing.T) {
	t.Parallel()
	keys := []tea.KeyPressMsg{
		{Code: tea.KeyUp}, {Code: tea.KeyDown}, {Code: tea.KeyPgDown}, {Code: tea.KeyPgUp}, {Code: tea.KeyEnter}, {Code: tea.KeyTab, Mod: tea.ModShift},
		{Code: 'a', Text: "a"}, {Code: '2', Text: "2"}, {Code: tea.KeySpace, Text: " "}, {Code: tea.KeyBackspace}, {Code: 'm', Text: "m"},
	}
	for seed := range uint64(300) {
		r := source{rand.New(rand.NewPCG(seed, 1))}
		var d dialog.Dialog
		show := func(other dialog.Dialog) { d = other }
		d = r.dialog(show)
		for done := false; !done && r.IntN(25) > 0; done = d.Key(keys[r.IntN(len(keys))]) {
			c := dialog.Canvas{Theme: &draw.Themes(true)[0], Width: 20 + r.IntN(80), Height: 10 + r.IntN(20), Method: ansi.Method(r.IntN(2)), Ready: r.yes()}
			lines, at := d.View(c)
			wide := c.Width >= 40 && slices.ContainsFunc(lines, func(line string) bool { return terminal.Columns(line) > c.Width })
			if wide || len(lines) > c.Height || at != nil && (at.Y < 0 || at.Y >= len(lines)) {
				t.Fatalf("seed %d: %d lines of %d, wider than %d: %v, caret %v:\n%s", seed, len(lines), c.Height, c.Width, wide, at, terminal.StripSGR(strings.Join(lines, "\n")))
			}
			if r.IntN(6) == 0 {
				d.Paste(r.text(20))
			}
		}
	}
}

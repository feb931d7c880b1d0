package tui

import (
	"context"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/fuzzy"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/sdk"
)

// maxMenu is the maximum number of rows of the menu.
const maxMenu = 8

// menu completes the word before the caret: commands after /, files and agents after @.
type menu struct {
	rows   []menuRow
	at     int
	length int    // number of bytes before the caret that a choice replaces
	before string // text before the caret that the rows complete; the menu is hidden for any other text
	shut   bool   // the user closed the menu
}

// menuRow is a choice of the menu. Its label and note may be any text.
type menuRow struct{ insert, label, note string }

// update finds the choices for the text before the caret.
func (n *menu) update(m *model) {
	before := m.input.Before()
	if n.shut && n.before == before {
		return
	}
	*n = menu{before: before}
	word := lastWord(before)
	if i := strings.LastIndex(before, `@"`); i >= 0 && !strings.ContainsAny(before[i+2:], "\"\n") {
		word = before[i:]
	}
	switch {
	case strings.HasPrefix(before, "/") && word == before:
		n.rows, n.length = m.commandRows(word[1:]), len(word)
	case strings.HasPrefix(word, "@"):
		n.rows, n.length = m.mentionRows(strings.TrimPrefix(word[1:], `"`)), len(word)
	}
}

// lastWord returns the text after the last blank.
func lastWord(text string) string { return text[strings.LastIndexAny(text, " \t\n")+1:] }

func (m *model) commandRows(pattern string) []menuRow {
	list := m.commandList()
	found := fuzzy.Filter(pattern, len(list), func(i int) string { return list[i].name })
	return cli.Mapped(found, func(i *int) menuRow {
		c := &list[*i]
		return menuRow{"/" + c.name + " ", strings.TrimSpace("/" + c.name + " " + c.args), c.short}
	})
}

// completeArguments requests suggestions for a mention such as @server:res or, if there are none, from the plugin of a command. It returns false
// unless the prompt ends with such a mention, or is a command with arguments. Other words have the form of a mention, too, such as @main.go:12: Tab
// then chooses the next agent as usual.
func (m *model) completeArguments() bool {
	before := m.input.Before()
	word := lastWord(before)
	name, arguments, ok := strings.Cut(strings.TrimPrefix(before, "/"), " ")
	command := ok && strings.HasPrefix(before, "/") && m.custom(name) != nil
	mention := strings.HasPrefix(word, "@") && strings.Contains(word, ":")
	if !command && !mention {
		return false
	}
	fetch(m, func(ctx context.Context) (words []string, _ error) {
		if mention {
			words = slices.DeleteFunc(m.host.CompleteCommand(ctx, "@", word), func(w string) bool { return !input.IsReference(w) || w != edit.Clean(w) })
		}
		if command && len(words) == 0 {
			words = m.host.CompleteCommand(ctx, name, arguments)
		}
		return words, nil
	}, func(words []string) {
		switch {
		case m.input.Before() != before: // the user has typed on
		case len(words) > 0:
			m.menu.offer(m, words)
		case command:
			m.say("no suggestions")
		default:
			m.nextAgent()
		}
	})
	return true
}

// offer shows suggestions of plugins for the last word before the caret. A single suggestion is inserted.
func (n *menu) offer(m *model, words []string) {
	rows := cli.Mapped(words, func(word *string) menuRow { return menuRow{insert: *word + " ", label: *word} })
	before := m.input.Before()
	*n = menu{before: before, length: len(lastWord(before)), rows: rows}
	if len(rows) == 1 {
		m.input.Complete(n.length, rows[0].insert)
	}
}

// maxMentions is the maximum number of choices after @.
const maxMentions = 50

func (m *model) mentionRows(pattern string) []menuRow {
	var rows []menuRow
	for _, a := range m.inventory.agents {
		if a.Mode != sdk.ModePrimary && !a.Hidden {
			rows = append(rows, menuRow{"@" + a.Name, "@" + a.Name, "agent · " + a.Description})
		}
	}
	agents := len(rows)
	for _, file := range m.files {
		rows = append(rows, menuRow{insert: file, label: file})
	}
	var out []menuRow
	for _, i := range fuzzy.Filter(pattern, len(rows), func(i int) string { return strings.TrimPrefix(rows[i].label, "@") }) {
		row := rows[i]
		if i >= agents {
			row.insert = input.Mention(row.insert)
			if row.insert == "" || row.insert != edit.Clean(row.insert) {
				continue // a name that @ or the editor cannot express
			}
		}
		if !strings.HasSuffix(row.insert, "/") { // after a directory, its files
			row.insert += " "
		}
		if out = append(out, row); len(out) == maxMentions {
			break
		}
	}
	return out
}

// open reports whether the menu is shown.
func (n *menu) open(m *model) bool { return len(n.rows) > 0 && n.before == m.input.Before() }

// menuKey handles a key while the menu is open.
func (m *model) menuKey(name string) bool {
	n := &m.menu
	if !n.open(m) {
		return false
	}
	switch name {
	case "up", "ctrl+p":
		n.at = (n.at + len(n.rows) - 1) % len(n.rows)
	case "down", "ctrl+n":
		n.at = (n.at + 1) % len(n.rows)
	case "esc":
		n.rows, n.shut = nil, true
	case "tab":
		m.input.Complete(n.length, n.rows[n.at].insert)
		n.update(m)
	case "enter":
		row := n.rows[n.at]
		command := strings.TrimSpace(row.insert)
		if text, _ := m.input.Text(); strings.HasPrefix(command, "/") && (text == command || !strings.Contains(row.label, " ")) { // complete, or takes no argument
			m.input.Set(command)
			m.enterPrompt()
			break
		}
		m.input.Complete(n.length, row.insert)
		n.update(m)
	default:
		return false
	}
	return true
}

// view draws at most height rows of the menu.
func (n *menu) view(m *model, width, height int) []string {
	if !n.open(m) {
		return nil
	}
	height = max(1, min(height, maxMenu))
	from, to := draw.Window(n.at, len(n.rows), height)
	rows := slices.Clone(n.rows[from:to])
	wide := 0
	for i := range rows {
		rows[i].label, rows[i].note = terminal.OneLine(rows[i].label), view.Clip(terminal.OneLine(rows[i].note), 200)
		wide = max(wide, terminal.Columns(rows[i].label))
	}
	wide = min(wide, max(20, width/2))
	var out []string
	for i, r := range rows {
		line := " " + draw.Pad(r.label, wide) + "  " + draw.Paint(m.look.Theme.Faint, r.note)
		if from+i == n.at {
			line = draw.Paint(m.look.Theme.Selected, draw.Pad(" "+draw.Pad(r.label, wide)+"  "+r.note, width-2))
		}
		out = append(out, terminal.Fit(" "+line, width))
	}
	return out
}

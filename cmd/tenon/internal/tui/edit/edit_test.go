package edit_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
)

// show returns the rows of an editor with | at the caret.
func show(e *edit.Editor, width int) string {
	rows, at, column := e.View(width, 1000, ansi.GraphemeWidth, func(label string) string { return label })
	before := ansi.Truncate(rows[at], column, "")
	rows[at] = before + "|" + strings.TrimPrefix(rows[at], before)
	return strings.Join(rows, "\n")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		keys string
		want string
	}{
		"words":           {"go test ./...", "alt+b", "go |test ./..."},
		"kill and yank":   {"go test", "ctrl+w ctrl+a ctrl+y", "test|go "},
		"a whole path":    {"see a/b.go ", "ctrl+w", "see |"},
		"a name of it":    {"see a/b.go", "alt+backspace", "see a/b.|"},
		"vowel signs":     {"a हिन्दी", "ctrl+w", "a |"},
		"accents":         {"a cafe\u0301.", "ctrl+a alt+f alt+f backspace", "a caf|."},
		"kill nothing":    {"go test", "ctrl+w ctrl+k ctrl+y", "go test|"},
		"line start":      {"one\ntwo", "ctrl+a", "one\n|two"},
		"kill to the end": {"one\ntwo", "up ctrl+a ctrl+k", "|\ntwo"},
		"join lines":      {"one\ntwo", "ctrl+a backspace", "one|two"},
		"wide":            {"日本語", "left backspace", "日|語"},
		"emoji family":    {"a👩‍👧b", "left backspace", "a|b"},
		"up keeps column": {"longer\nx\nlonger", "up up", "longer|\nx\nlonger"},
		"new line":        {"ab", "left alt+enter", "a\n|b"},
		"delete":          {"ab", "home delete", "|b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &edit.Editor{}
			e.Insert(c.text)
			e.View(40, 12, ansi.GraphemeWidth, nil)
			for _, key := range strings.Fields(c.keys) {
				if !e.Key(key) {
					t.Errorf("key %s is unknown", key)
				}
			}
			if got := show(e, 40); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"the quick brown fox": "the quick \nbrown fox|",
		"abcdefghijklmn":      "abcdefghij\nklmn|",
		"ab 日本語日本語":           "ab \n日本語日本\n語|",
		"":                    "|",
		"abc\n":               "abc\n|",
	} {
		e := &edit.Editor{}
		e.Insert(text)
		if got := show(e, 11); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestChips(t *testing.T) {
	t.Parallel()
	e := &edit.Editor{}
	e.Insert("see ")
	e.InsertChip(edit.Chip{Label: "[Pasted 3 lines]", Text: "1\n2\n3"})
	e.InsertChip(edit.Chip{Label: "[Image 1]", File: "/tmp/a.png"})
	e.Insert(" ok\U00100000\x1b")
	if got := show(e, 60); got != "see [Pasted 3 lines][Image 1] ok|" {
		t.Errorf("shown as %q", got)
	}
	text, files := e.Text()
	if text != "see 1\n2\n3 ok" || len(files) != 1 || files[0] != "/tmp/a.png" {
		t.Errorf("Text = %q, %q", text, files)
	}
	for range 4 { // " ok" and the image
		e.Key("backspace")
	}
	if text, files := e.Text(); text != "see 1\n2\n3" || len(files) != 0 {
		t.Errorf("after backspace: %q, %q", text, files)
	}
}

func FuzzEditor(f *testing.F) {
	keys := []string{"left", "right", "up", "down", "backspace", "delete", "ctrl+w", "ctrl+k", "ctrl+u", "ctrl+y", "alt+b", "alt+f", "ctrl+a", "ctrl+e", "alt+enter"}
	f.Add("some 日本 text\nand\tmore", []byte{0, 1, 2, 3, 4, 5, 6, 7}, 9)
	f.Fuzz(func(t *testing.T, text string, pressed []byte, width int) {
		e := &edit.Editor{}
		e.Insert(text)
		for i, k := range pressed {
			if i%3 == 0 {
				e.Insert("x日")
			}
			e.Key(keys[int(k)%len(keys)])
			rows, row, column := e.View(width%200, width%7, ansi.Method(width%2), func(label string) string { return label })
			if row < 0 || row >= len(rows) || column < 0 || !utf8.ValidString(e.Before()) {
				t.Fatalf("caret at %d, %d of %q", row, column, rows)
			}
		}
	})
}

func TestKilledChipIsInsertedAgain(t *testing.T) {
	t.Parallel()
	e := &edit.Editor{}
	e.InsertChip(edit.Chip{Label: "[Pasted 9 lines]", Text: "first"})
	e.Key("ctrl+u")
	e.Set("another prompt")
	e.Set("")
	e.InsertChip(edit.Chip{Label: "[Pasted 8 lines]", Text: "second"})
	e.Key("ctrl+y")
	if text, _ := e.Text(); text != "secondfirst" {
		t.Errorf("Text = %q, want both pastes", text)
	}
}

func TestLongTextIsShownAroundTheCaret(t *testing.T) {
	t.Parallel()
	e := &edit.Editor{}
	e.Insert(strings.Repeat("x\n", 50) + "end")
	rows, row, _ := e.View(40, 5, ansi.GraphemeWidth, nil)
	if len(rows) != 5 || row != 4 || rows[row] != "end" {
		t.Errorf("row %d of %q, want the last of 5", row, rows)
	}
	for range 50 {
		e.Key("up")
	}
	if rows, row, _ := e.View(40, 5, ansi.GraphemeWidth, nil); len(rows) != 5 || row != 0 {
		t.Errorf("row %d of %q, want the first of 5", row, rows)
	}
}

// Rows are the same whether a text is typed or set, also in a copy that was made on the way.
func TestTypedTextIsLaidOutAsAWhole(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("some words and \u6f22\u5b57 ", 20) + "\n\n\tend", strings.Repeat("x", 100), " \n \n", "e\u0301\U0001F468\u200d\U0001F469\u200d\U0001F467 " + strings.Repeat("a\u0301", 30),
	} {
		var typed, early edit.Editor
		before := ""
		for i, r := range text {
			typed.Insert(string(r))
			if have, want := show(&typed, 12), laidOut(text[:i+utf8.RuneLen(r)]); have != want {
				t.Fatalf("typed:\n%s\nset:\n%s", have, want)
			}
			if i >= len(text)/2 && before == "" {
				early, before = typed, show(&typed, 12)
			}
		}
		if have := show(&early, 12); have != before {
			t.Errorf("a copy changed with the text:\n%s\nwas:\n%s", have, before)
		}
	}
}

func laidOut(text string) string {
	var e edit.Editor
	e.Set(text)
	return show(&e, 12)
}

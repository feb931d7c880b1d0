package chat

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
)

func TestLineEditor(t *testing.T) {
	t.Parallel()
	const left, right, up, down = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[B"
	for name, c := range map[string]struct{ typed, want string }{ // | is the cursor
		"text":                        {"hello", "hello|"},
		"backspace":                   {"ab\x7f", "a|"},
		"insert in the middle":        {"ac" + left + "b", "ab|c"},
		"home and end":                {"bc\x01a\x05d", "abcd|"},
		"delete":                      {"abc\x01\x1b[3~", "|bc"},
		"ctrl-d deletes":              {"abc\x01\x04", "|bc"},
		"words":                       {"one two three\x1bb\x1bb\x1bf", "one two| three"},
		"delete a word":               {"one two\x17", "one |"},
		"delete to the start":         {"one two" + left + left + "\x15", "|wo"},
		"delete to the end, and back": {"one two\x01\x0b\x19\x19", "one twoone two|"},
		"transpose":                   {"ab\x14", "ba|"},
		"combining marks stay":        {"xe\u0301y" + left + left + "\x7f", "|e\u0301y"},
		"a newline":                   {"a\nb\x1b\rc", "a\nb\nc|"},
		"backslash":                   {`a\` + "\rb", "a\nb|"},
		"two backslashes":             {`a\\` + "\r", `a\\|` + "!"},
		"a block":                     {"\"\"\"\ra\\\rb", "\"\"\"\na\\\nb|"},
		"lines are moved in":          {"one\ntwo" + up + "X" + down + "Y", "oneX\ntwoY|"},
		"shorter line":                {"a\nlonger" + up + "X", "aX|\nlonger"},
		"home of a line":              {"one\ntwo\x01X", "one\nX|two"},
		"kill of a line feed":         {"a\nb" + up + "\x0b", "a|b"},
		"history":                     {"own" + up, "newer|"},
		"history and back":            {"own" + up + up + up + down + down, "own|"},
		"search":                      {"\x12old", "older|"},
		"search goes on":              {"\x12er\x12", "older|"},
		"search given up":             {"own\x12old\x07", "own|"},
		"search, then edit":           {"\x12old\x01X", "X|older"},
		"search, then down":           {"own\x12old\x1b[B\x1b[B", "own|"},
		"complete":                    {"/he\t", "/help |"},
		"complete to what is common":  {"/\t", "/h|"},
		"complete a directory":        {"@sr\t", "@src/|"},
		"nothing to complete":         {"xyz\t", "xyz|"},
		"complete in the middle":      {"/he x" + left + left + "\t", "/help | x"},
		"enter":                       {"a\r", "a|!"},
		"paste does not enter":        {pasteBegin + "a\rb\r" + pasteEnd, "a\nb\n|"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &lineEditor{history: []string{"older", "newer"}, complete: func(before string) completion {
				if strings.HasPrefix(before, "@") {
					return matching(1, before[1:], []string{"src/"})
				}
				if !strings.HasPrefix(before, "/") {
					return completion{}
				}
				return matching(1, before[1:], []string{"help", "hooks"})
			}}
			e.reset()
			keys, rest := decodeAll([]byte(c.typed))
			entered := ""
			for _, k := range keys {
				if e.press(k) == editEntered {
					entered = "!"
				}
			}
			if have := string(e.text[:e.pos]) + "|" + string(e.text[e.pos:]) + entered; have != c.want || len(rest) > 0 {
				t.Errorf("%q gives %q, want %q", c.typed, have, c.want)
			}
		})
	}
}

func TestTabShowsChoices(t *testing.T) {
	t.Parallel()
	e := &lineEditor{complete: func(before string) completion { return matching(1, before[1:], []string{"help", "hooks"}) }}
	e.set("/h")
	e.press(key{kind: keyTab})
	s := &terminal.Screen{Width: func() int { return 40 }, Height: func() int { return 10 }}
	if diff := cmp.Diff([]string{"> /h", "help   hooks"}, e.layout(s, "> ").Rows); diff != "" {
		t.Errorf("rows (-want +have):\n%s", diff)
	}
	e.press(key{keyText, "e"})
	if rows := e.layout(s, "> ").Rows; len(rows) != 1 {
		t.Errorf("the choices stay behind the next key: %q", rows)
	}
}

func TestUnfinishedAndComposed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ // "…": unfinished
		"":                       "",
		"a":                      "a",
		`a\`:                     "…",
		`a\\`:                    `a\\`,
		`"""`:                    "…",
		"\"\"\"\na":              "…",
		"\"\"\"\na\n\nb\n\"\"\"": "a\n\nb",
		`"""one"""`:              "one",
		`""""""`:                 "",
		`say """x`:               `say """x`,
	} {
		have := composed(text)
		if unfinished(text) {
			have = "…"
		}
		if have != want {
			t.Errorf("%q stands for %q, want %q", text, have, want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/help":          "help|",
		"/model a/b":     "model|a/b",
		"/x  one  two ":  "x|one  two",
		"/x\none\ntwo":   "x|one\ntwo",
		"/":              "|",
		" /help":         "no",
		"explain /help":  "no",
		"exit":           "exit|",
		":q":             "exit|",
		"exit the loop?": "no",
	} {
		have := "no"
		if name, args, ok := commandLine(text); ok {
			have = name + "|" + args
		}
		if have != want {
			t.Errorf("commandLine(%q) = %q, want %q", text, have, want)
		}
	}
}

// Every command of the chat is documented with all its names, and no name is used twice.
func TestChatCommandsAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../../docs/chat.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, command := range chatCommands() {
		if !strings.Contains(string(doc), strings.TrimSpace("`/"+command.name+" "+command.args)+"`") {
			t.Errorf("docs/chat.md does not have /%s %s", command.name, command.args)
		}
		for _, name := range append(command.aliases, command.name) {
			if seen[name] {
				t.Errorf("/%s stands for two commands", name)
			}
			seen[name] = true
			if !strings.Contains(string(doc), "`/"+name) {
				t.Errorf("docs/chat.md does not have /%s", name)
			}
		}
	}
}

// vt is a terminal: what was written, as rows of characters. It breaks rows that are too long when it becomes narrower, as
// most terminals do.
type vt struct {
	rows     [][]rune
	row, col int
}

func (v *vt) Write(p []byte) (int, error) {
	for s := string(p); s != ""; {
		if rest, ok := strings.CutPrefix(s, "\x1b["); ok {
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' })
			n := 1
			_, _ = fmt.Sscanf(rest[:end], "%d", &n) // without a number it is 1
			v.sequence(rest[end], n)
			s = rest[end+1:]
			continue
		}
		r := []rune(s)[0]
		s = s[len(string(r)):]
		v.put(r)
	}
	return len(p), nil
}

func (v *vt) sequence(kind byte, n int) {
	switch kind {
	case 'A':
		v.row = max(v.row-n, 0)
	case 'C':
		v.col += n
	case 'J':
		v.rows = v.rows[:min(v.row+1, len(v.rows))]
		v.rows[v.row] = v.rows[v.row][:min(v.col, len(v.rows[v.row]))]
	case 'K':
		v.rows[v.row] = nil
	}
}

func (v *vt) put(r rune) {
	for len(v.rows) <= v.row+1 {
		v.rows = append(v.rows, nil)
	}
	switch r {
	case '\r':
		v.col = 0
	case '\n': // the terminal still translates it
		v.row, v.col = v.row+1, 0
	default:
		for range max(terminal.RuneWidth(r), 1) {
			for len(v.rows[v.row]) <= v.col {
				v.rows[v.row] = append(v.rows[v.row], ' ')
			}
			v.rows[v.row][v.col] = r
			v.col++
		}
	}
}

// narrow breaks the rows that are wider.
func (v *vt) narrow(width int) {
	var rows [][]rune
	at := v.row
	for i, row := range v.rows {
		if i == at {
			v.row, v.col = len(rows)+v.col/width, v.col%width
		}
		for len(row) > width {
			rows, row = append(rows, row[:width]), row[width:]
		}
		rows = append(rows, row)
	}
	v.rows = rows
}

func (v *vt) String() string {
	var b strings.Builder
	for i, row := range v.rows {
		line := strings.TrimRight(string(row), " ")
		if i == v.row {
			line = string(append(append(append([]rune{}, row...), []rune(strings.Repeat(" ", max(v.col-len(row), 0)))...)[:v.col], '|')) + string(row[min(v.col, len(row)):])
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func TestInputOnScreen(t *testing.T) {
	t.Parallel()
	display := &vt{}
	width := 40
	s := &terminal.Screen{Out: display, Live: true, Streams: true, Width: func() int { return width }, Height: func() int { return 10 }}
	e := &lineEditor{}
	e.reset()
	see := func(want string) {
		t.Helper()
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), display.String()); diff != "" {
			t.Errorf("on the terminal (-want +have):\n%s", diff)
		}
	}
	draw := func() { s.Edit(e.layout(s, "> ")) }
	s.Line("before")
	e.set("one two three four five six seven eight nine")
	draw()
	see(`
before
> one two three four five six seven eig
  ht nine|`)
	s.Line("something happened")
	see(`
before
something happened
> one two three four five six seven eig
  ht nine|`)
	width = 20
	display.narrow(width)
	draw()
	see(`
before
something happened
> one two three fou
  r five six seven
  eight nine|`)
	width = 60
	draw()
	see(`
before
something happened
> one two three four five six seven eight nine|`)
	e.pos = 3
	draw()
	see(`
before
something happened
> one| two three four five six seven eight nine`)
	e.set("世界\nsecond")
	e.pos = 1
	draw()
	see(`
before
something happened
> 世世|界界
  second`)
	s.Entered(e.layout(s, "> "))
	s.Stream("answer\n")
	see(`
before
something happened
> 世世界界
  second

answer
|`)
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprint("line ", i))
	}
	e.set(strings.Join(many, "\n"))
	if rows := e.layout(s, "> ").Rows; len(rows) != 9 || rows[8] != "  line 29" {
		t.Errorf("of a text higher than the terminal %q is shown", rows)
	}
}

func TestEditingLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &terminal.Screen{Out: &out, Live: true, Width: func() int { return 40 }, Height: func() int { return 10 }}
	s.Edit((&lineEditor{text: []rune("abc")}).layout(s, "> "))
	s.Edit(nil)
	out.Reset()
	s.Line("next")
	if have := out.String(); have != "next\n" {
		t.Errorf("after editing a line is written as %q", have)
	}
}

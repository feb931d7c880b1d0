package input

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/tools"
)

func TestExpandTemplate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ template, arguments, want string }{
		"no place":               {"Review.", "", "Review."},
		"no place, arguments":    {"Review.", "the diff", "Review.\n\nthe diff"},
		"all":                    {"Do $ARGUMENTS now", "a b", "Do a b now"},
		"by number":              {"$1 then $2", "a b", "a then b"},
		"the last takes rest":    {"$1: $2", "a b c d", "a: b c d"},
		"quoted":                 {"$1|$2", `"a b" c`, "a b|c"},
		"missing":                {"$1|$2|$3", "a", "a||"},
		"used twice":             {"$1 and $1", "x y", "x y and x y"},
		"arguments are not read": {"$1", "$ARGUMENTS", "$ARGUMENTS"},
		"no shell by arguments":  {"Do $ARGUMENTS", "!`rm a`", "Do !`rm a`"},
		"other numbers":          {"$10 $0 $1", "a b", "$10 $0 a b"},
		"blank arguments":        {"Review.", "  ", "Review."},
		"next to text":           {"$1st", "a", "ast"},
		"all and some":           {"$1 of $ARGUMENTS", `"a b" c`, `a b c of "a b" c`},
	}
	for name, c := range cases {
		if got, _ := joinPieces(fillTemplate(c.template, c.arguments, true), AuthorUser); got != c.want {
			t.Errorf("%s: fillTemplate(%q, %q) = %q, want %q", name, c.template, c.arguments, got, c.want)
		}
	}
}

// TestShellArguments checks how arguments are inserted into the shell commands of a template.
func TestShellArguments(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ template, arguments, want string }{
		"none":               {"!`git log`", "a; b", "git log"},
		"as they are":        {"!`git log $1 -- $2`", "v1..v2 a/b.go c", "git log v1..v2 -- a/b.go c"},
		"all":                {"!`git log $ARGUMENTS`", `--since=1.day "a b"`, "git log --since=1.day a b"},
		"missing":            {"!`git log $1`", "", "git log "},
		"not the shell's":    {"!`echo $HOME $10 ${1}`", "a", "echo $HOME $10 ${1}"},
		"code":               {"!`grep \"$1\" a`", "x; rm -rf /", "set -- 'x; rm -rf /'\ngrep \"$1\" a"},
		"substitution":       {"!`echo $ARGUMENTS`", "$(rm a)", "set -- '$(rm' 'a)'\necho $*"},
		"quotes":             {"!`echo $1 $2`", `"it's" b`, "set -- 'it'\\''s' 'b'\necho $1 $2"},
		"the last takes all": {"$2 !`echo $1`", "a; b c d", "set -- 'a;' 'b c d'\necho $1"},
		"backtick":           {"!`echo $1`", "`id`", "set -- '`id`'\necho $1"},
		"new line":           {"!`echo $1`", "\"a\nid\"", "set -- 'a\nid'\necho $1"},
		"redirect":           {"!`echo $1`", ">x", "set -- '>x'\necho $1"},
	}
	for name, c := range cases {
		pieces := fillTemplate(c.template, c.arguments, true)
		i := slices.IndexFunc(pieces, func(p piece) bool { return p.kind == pieceShell })
		if i < 0 || pieces[i].text != c.want {
			t.Errorf("%s: fillTemplate(%q, %q) runs %+v, want %q", name, c.template, c.arguments, pieces, c.want)
		}
	}
	for _, p := range fillTemplate("!`id` $1", "!`id`", false) {
		if p.kind == pieceShell {
			t.Errorf("a template that may run nothing runs %q", p.text)
		}
	}
}

func TestSplitArguments(t *testing.T) {
	t.Parallel()
	cases := map[string][]string{
		"":               nil,
		"  ":             nil,
		"a b":            {"a", "b"},
		`a "b c" d`:      {"a", "b c", "d"},
		`'it''s' fine`:   {"it", "s", "fine"},
		`""`:             {""},
		"a\tb\nc":        {"a", "b", "c"},
		`open "to the e`: {"open", "to", "the", "e"},
		`"'a'" b`:        {"'a'", "b"},
		"[Image 1] it's": {"[Image 1]", "it", "s"},
	}
	for in, want := range cases {
		if got := splitArguments(in); !slices.Equal(got, want) {
			t.Errorf("splitArguments(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCutOutput(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text        string
		lines, size int
		tail        bool
		want        string
	}{
		"fits":               {"a\nb\n", 5, 100, false, "a\nb\n"},
		"lines, head":        {"a\nb\nc\n", 2, 100, false, "a\nb\n"},
		"lines, tail":        {"a\nb\nc", 2, 100, true, "b\nc"},
		"bytes, head":        {"aaaa\nbbbb\ncccc\n", 9, 11, false, "aaaa\nbbbb\n"},
		"bytes, tail":        {"aaaa\nbbbb\ncccc", 9, 10, true, "bbbb\ncccc"},
		"one long line":      {"aaaaaaaaaa", 9, 4, false, "aaaa"},
		"one long line tail": {"aaaaaaaabb", 9, 4, true, "aabb"},
		"long after short":   {"a\nbbbbbbbbbb", 9, 6, false, "a\nbbbb"},
		"long before short":  {"aaaaaaaaaa\nb\n", 9, 6, true, "aaa\nb\n"},
		"invalid, then long": {"\xe0\xe0\xe0\n" + "bbbbbbbbbb", 9, 10, false, "\xe0\xe0\xe0\nbbbbbb"},
		"no rune is cut":     {"ääää", 9, 3, false, "ä"},
		"no rune cut, tail":  {"ääää", 9, 3, true, "ä"},
	}
	for name, c := range cases {
		if got := tools.CutOutput(c.text, c.lines, c.size, c.tail); got != c.want {
			t.Errorf("%s: cutOutput(%q) = %q, want %q", name, c.text, got, c.want)
		}
	}
}

// FuzzShellArguments checks that the shell runs only the command of the template, whatever the arguments are: before it is one
// line of words in single quotes, and the inserted text has no meaning to a shell.
func FuzzShellArguments(f *testing.F) {
	f.Add("a b")
	f.Add("'; rm -rf / #")
	f.Add("\"x'\n$(id)\"")
	f.Fuzz(func(t *testing.T, arguments string) {
		got := fillTemplate("!`cmd \"$1\" $ARGUMENTS`", arguments, true)[1].text
		if got == "cmd \"$1\" $*" {
			t.Fatal("the parameters are not set")
		}
		rest, set := strings.CutPrefix(got, "set --")
		if !set {
			if strings.ContainsAny(got, "$`\\;&|<>()'\n*?[]{}~#!^") {
				t.Errorf("%q is put in as %q", arguments, got)
			}
			return
		}
		line, command := rest[:strings.LastIndexByte(rest, '\n')], rest[strings.LastIndexByte(rest, '\n')+1:]
		if command != "cmd \"$1\" $*" {
			t.Errorf("%q changes the command to %q", arguments, command)
		}
		for inside := false; line != ""; line = line[1:] {
			switch {
			case line[0] == '\'':
				inside = !inside
			case !inside && strings.HasPrefix(line, `\'`):
				line = line[1:]
			case !inside && line[0] != ' ':
				t.Fatalf("%q is outside of quotes in %q", line[:1], got)
			}
		}
	})
}

// FuzzCutOutput checks that what is kept is a piece of the text within the limits.
func FuzzCutOutput(f *testing.F) {
	f.Add("a\nb\nc", 2, 3, true)
	f.Add("", 1, 1, false)
	f.Fuzz(func(t *testing.T, text string, lines, size int, tail bool) {
		if lines < 1 || size < 1 {
			return
		}
		got := tools.CutOutput(text, lines, size, tail)
		if len(got) > size {
			t.Errorf("kept %d bytes of at most %d", len(got), size)
		}
		if tail && text[len(text)-len(got):] != got || !tail && text[:len(got)] != got {
			t.Errorf("kept %q, which is not an end of %q", got, text)
		}
	})
}

// A path that completion inserts is the one that is attached.
func TestMention(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"main.go": "@main.go", "sub/": "@sub/", "my notes, v2.md": `@"my notes, v2.md"`, "it's.md": `@"it's.md"`, `a "b".md`: `@'a "b".md'`,
		`"a" isn't.md`: "", "two\nlines": "", `"a b"`: `@'"a b"'`, "a(b).go": `@"a(b).go"`,
	} {
		if have := Mention(path); have != want {
			t.Errorf("Mention(%q) = %s, want %s", path, have, want)
		}
	}
}

// A mention that completion inserts reaches its plugin whole.
func TestIsReference(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"@a:b": true, "@a:note://b": true, "@a:note://b,c;(d)/e": true, "@a:": false, "@a:note://": true, "@a:b,c": false, "@a:b(c)d": false,
		"@a:note://b.": false, "@a:note://(b)": false, "@a:note://b c": false, `@a:note://b"c`: false, "@a:note://<b>": false, "a:b": false, "": false,
	} {
		if have := IsReference(text); have != want {
			t.Errorf("IsReference(%q) = %v", text, have)
		}
	}
}

package host

import (
	"slices"
	"testing"
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
	}
	for name, c := range cases {
		if got := expandTemplate(c.template, c.arguments); got != c.want {
			t.Errorf("%s: expandTemplate(%q, %q) = %q, want %q", name, c.template, c.arguments, got, c.want)
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
		`'it''s' fine`:   {"its", "fine"},
		`""`:             {""},
		"a\tb\nc":        {"a", "b", "c"},
		`open "to the e`: {"open", "to the e"},
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
		"no rune is cut":     {"ääää", 9, 3, false, "ä"},
		"no rune cut, tail":  {"ääää", 9, 3, true, "ä"},
	}
	for name, c := range cases {
		if got := cutOutput(c.text, c.lines, c.size, c.tail); got != c.want {
			t.Errorf("%s: cutOutput(%q) = %q, want %q", name, c.text, got, c.want)
		}
	}
}

// FuzzCutOutput checks that what is kept is a piece of the text within the limits.
func FuzzCutOutput(f *testing.F) {
	f.Add("a\nb\nc", 2, 3, true)
	f.Add("", 1, 1, false)
	f.Fuzz(func(t *testing.T, text string, lines, size int, tail bool) {
		if lines < 1 || size < 1 {
			return
		}
		got := cutOutput(text, lines, size, tail)
		if len(got) > size {
			t.Errorf("kept %d bytes of at most %d", len(got), size)
		}
		if tail && text[len(text)-len(got):] != got || !tail && text[:len(got)] != got {
			t.Errorf("kept %q, which is not an end of %q", got, text)
		}
	})
}

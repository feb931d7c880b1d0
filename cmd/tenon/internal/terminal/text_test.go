package terminal

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"plain":           {"a b\n\tc äöü 漢字 🙂", "a b\n\tc äöü 漢字 🙂"},
		"escape":          {"\x1b[31mred", `\u{1b}[31mred`},
		"title":           {"\x1b]0;x\x07", `\u{1b}]0;x\u{7}`},
		"carriage return": {"safe\rrm -rf", `safe\u{d}rm -rf`},
		"C1":              {"\u009b31m", `\u{9b}31m`},
		"direction":       {"a\u202eb", `a\u{202e}b`},
		"tag":             {"read\U000e0041", `read\u{e0041}`},
		"no width":        {"re\u200bad\u200d", `re\u{200b}ad\u{200d}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if have := Visible(c.in); have != c.want {
				t.Errorf("visible(%q) = %q, want %q", c.in, have, c.want)
			}
		})
	}
}

// family takes two columns, or six in terminals that show its parts.
const family = "👨\u200d👩\u200d👧"

func TestFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in      string
		columns int
		want    string
	}{
		"shorter":        {"abc", 4, "abc"},
		"exact":          {"abcd", 4, "abcd"},
		"longer":         {"abcde", 4, "abc…"},
		"wide":           {"漢字漢", 4, "漢…"},
		"wide exact":     {"漢字", 4, "漢字"},
		"painted":        {"\x1b[1mab\x1b[0mcde", 4, "\x1b[1mab\x1b[0mc…"},
		"painted, short": {"\x1b[1mab\x1b[0m", 2, "\x1b[1mab\x1b[0m"},
		"one column":     {"ab", 1, "…"},
		"joined emoji":   {family + "01234", 10, family + "012…"},
		"emoji fit":      {family + "0123", 10, family + "0123"},
		"many emoji":     {strings.Repeat(family, 4), 10, family + "…"},
		"emoji at end":   {"0123" + family + family, 10, "0123…"},
		"skin tone":      {strings.Repeat("👍🏽", 5), 10, strings.Repeat("👍🏽", 2) + "…"},
		"empty":          {"", 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if have := Fit(c.in, c.columns); have != c.want {
				t.Errorf("fit(%q, %d) = %q, want %q", c.in, c.columns, have, c.want)
			}
		})
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"short":     {"a b", "a b"},
		"words":     {"one two three four", "one two\n  three\n  four"},
		"indented":  {"  one two three", "  one two\n    three"},
		"long word": {"see https://example.com/ now", "see\n  https://example.com/\n  now"},
		"a prompt":  {"one two 12: ", "one two\n  12: "},
		"fits":      {"one two : ", "one two : "},
		"painted":   {"\x1b[1mone two\x1b[0m three", "\x1b[1mone two\x1b[0m\n  three"},
		"wide":      {"漢字 漢字 漢字", "漢字 漢字\n  漢字"},
		"lines":     {"one two three\nfour", "one two\n  three\nfour"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if have := Wrap(c.in, 10); have != c.want {
				t.Errorf("Wrap(%q) = %q, want %q", c.in, have, c.want)
			}
		})
	}
}

// FuzzLines checks that lines do not depend on the pieces in which they arrive.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\r\nb\n\nc\r"), 2)
	f.Add([]byte("\r\r\n\xff\x00"), 1)
	f.Fuzz(func(t *testing.T, input []byte, size int) {
		size = max(1, size%64)
		k := NewKeyboard(nil)
		var lines []string
		for piece := range slices.Chunk(input, size) {
			k.Took(Piece{data: piece})
			for line, ok := k.Line(); ok; line, ok = k.Line() {
				lines = append(lines, line)
			}
		}
		k.Took(Piece{err: io.EOF})
		if line, ok := k.Line(); ok {
			lines = append(lines, line)
		}
		want := strings.Split(strings.ReplaceAll(string(input), "\r\n", "\n"), "\n")
		if last := len(want) - 1; want[last] == "" {
			want = want[:last]
		}
		if !slices.Equal(lines, want) || len(k.Buf) > 0 {
			t.Errorf("%q is read as %q, then %q; want %q", input, lines, k.Buf, want)
		}
	})
}

// FuzzFit checks that whatever a model writes, a live line stays one line that fits the terminal.
func FuzzFit(f *testing.F) {
	for _, s := range []string{"", "abc", "\x1b[31mx", "漢字\u0301", "a\nb\rc", strings.Repeat("🙂", 50), "\xff\xfe"} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, columns int) {
		columns = max(1, columns%200)
		line := Fit(OneLine(s), columns)
		if strings.ContainsAny(line, "\n\r\x1b") {
			t.Errorf("fit(%q) = %q: control characters", s, line)
		}
		if width := Columns(line); width > columns && utf8.ValidString(s) {
			t.Errorf("fit(%q, %d) = %q: %d columns", s, columns, line, width)
		}
	})
}

func TestReaderEnded(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("x"); !ReaderEnded(err) {
		t.Errorf("ReaderEnded(%v) = false for a closed pipe", err)
	}
	if ReaderEnded(os.ErrClosed) {
		t.Error("an output that tenon closed has no reader that ended")
	}
}

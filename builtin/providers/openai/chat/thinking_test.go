package chat

import (
	"strings"
	"testing"
)

func TestSplitThinking(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ in, reasoning, text string }{
		"none":              {"hello", "", "hello"},
		"whole":             {"<think>\nhm\n</think>\n\nhello", "hm\n", "hello"},
		"leading space":     {"\n <think>hm</think>hello", "hm", "hello"},
		"space alone":       {"  \n", "", "  \n"},
		"unclosed":          {"<think>hm", "hm", ""},
		"almost closed":     {"<think>hm</thin", "hm</thin", ""},
		"false close":       {"<think>a</thing>b</think>c", "a</thing>b", "c"},
		"empty":             {"<think>\n\n</think>\n\nhello", "", "hello"},
		"later":             {"a <think>b</think>", "", "a <think>b</think>"},
		"second":            {"<think>a</think>b<think>c</think>", "a", "b<think>c</think>"},
		"other tag":         {"<thinker>x", "", "<thinker>x"},
		"prefix only":       {"<th", "", "<th"},
		"close alone":       {"</think>x", "", "</think>x"},
		"space after close": {"<think>a</think>\n\n  b", "a", "  b"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 2, 3, 5, 100} {
				reasoning, text := splitThinking(pieces(c.in, size)...)
				if reasoning != c.reasoning || text != c.text {
					t.Errorf("in pieces of %d: reasoning %q, text %q; want %q, %q", size, reasoning, text, c.reasoning, c.text)
				}
			}
		})
	}
}

func pieces(s string, size int) []string {
	var out []string
	for len(s) > size {
		out = append(out, s[:size])
		s = s[size:]
	}
	return append(out, s)
}

// splitThinking feeds the deltas to the recogniser of <think> and returns all it gave.
func splitThinking(deltas ...string) (reasoning, text string) {
	var t thinking
	for _, d := range deltas {
		r, x := t.split(d)
		reasoning, text = reasoning+r, text+x
	}
	r, x := t.flush()
	return reasoning + r, text + x
}

// FuzzThinking: the size of the pieces does not matter, and a text without reasoning is unchanged, except for
// the space around them.
func FuzzThinking(f *testing.F) {
	f.Add("<think>\nhm</think>\n\nhello", 3)
	f.Add(" <think>a</thi</think>", 1)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < 1 {
			return
		}
		wantReasoning, wantText := splitThinking(text)
		reasoning, rest := splitThinking(pieces(text, size)...)
		if reasoning != wantReasoning || rest != wantText {
			t.Errorf("in pieces of %d: %q, %q; whole: %q, %q", size, reasoning, rest, wantReasoning, wantText)
		}
		if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "<think>") && rest != text {
			t.Errorf("text without reasoning %q became %q", text, rest)
		}
	})
}

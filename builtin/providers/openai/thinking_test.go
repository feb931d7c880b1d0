package openai_test

import (
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/openai"
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
				reasoning, text := openai.SplitThinking(pieces(c.in, size)...)
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

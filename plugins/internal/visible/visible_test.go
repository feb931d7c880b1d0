package visible_test

import (
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/internal/visible"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"plain text":             {"Asks the API, für Ärzte 日本", "Asks the API, für Ärzte 日本"},
		"escape sequences":       {"a\x1b[31mred\x1b[0m", `a\u{1b}[31mred\u{1b}[0m`},
		"one-byte CSI":           {"a\u009b2J", `a\u{9b}2J`},
		"carriage return":        {"good\rbad", "good bad"},
		"lines become one":       {"reason\n\n  approve? yes\t!", "reason approve? yes !"},
		"bidi override":          {"a\u202egpj.exe", `a\u{202e}gpj.exe`},
		"isolate":                {"\u2066x\u2069", `\u{2066}x\u{2069}`},
		"zero width":             {"pay\u200bpal", `pay\u{200b}pal`},
		"line separator":         {"a\u2028b", `a\u{2028}b`},
		"bytes that are no text": {"a\xff\x1b", `a\x{ff}\u{1b}`},
		"backspaces":             {"abc\b\b\b", `abc\u{8}\u{8}\u{8}`},
		"private use":            {"\ue000", `\u{e000}`},
		"pile of marks":          {"a" + strings.Repeat("\u0301", 50), "a" + strings.Repeat("\u0301", 3)},
		"wide space":             {"a\u3000b", `a\u{3000}b`},
		"too long":               {strings.Repeat("x", 200), strings.Repeat("x", 120) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := visible.Clean(c.in, 120); got != c.want {
				t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b]0;title\x07")
	f.Add("\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range visible.Clean(s, 100) {
			if !visible.Is(r) {
				t.Errorf("Clean(%q) holds %q", s, r)
			}
		}
	})
}

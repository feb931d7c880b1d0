package visible_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tenonhq/tenon/internal/visible"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"plain text":              {"Asks the API, für Ärzte 日本", "Asks the API, für Ärzte 日本"},
		"escape sequences":        {"a\x1b[31mred\x1b[0m", `a\u{1b}[31mred\u{1b}[0m`},
		"one-byte CSI":            {"a\u009b2J", `a\u{9b}2J`},
		"carriage return":         {"good\rbad", "good bad"},
		"lines become one":        {"reason\n\n  approve? yes\t!", "reason approve? yes !"},
		"bidi override":           {"a\u202egpj.exe", `a\u{202e}gpj.exe`},
		"isolate":                 {"\u2066x\u2069", `\u{2066}x\u{2069}`},
		"zero width":              {"pay\u200bpal", `pay\u{200b}pal`},
		"line separator":          {"a\u2028b", `a\u{2028}b`},
		"bytes that are not text": {"a\xff\x1b", `a\x{ff}\u{1b}`},
		"backspaces":              {"abc\b\b\b", `abc\u{8}\u{8}\u{8}`},
		"private use":             {"\ue000", `\u{e000}`},
		"pile of marks":           {"a" + strings.Repeat("\u0301", 50), "a" + strings.Repeat("\u0301", 3)},
		"letters without a shape": {"a\u3164b\u115f\u034fc", `a\u{3164}b\u{115f}\u{34f}c`},
		"wide space":              {"a\u3000b", `a\u{3000}b`},
		"too long":                {strings.Repeat("x", 200), strings.Repeat("x", 120) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := visible.Clean(c.in, 120); got != c.want {
				t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, text, prose string }{
		"lines stay":       {"a b\n\tc äöü 漢字 🙂", "a b\n\tc äöü 漢字 🙂", "a b\n\tc äöü 漢字 🙂"},
		"escape":           {"\x1b[31mred", `\u{1b}[31mred`, `\u{1b}[31mred`},
		"carriage return":  {"safe\rrm -rf", `safe\u{d}rm -rf`, `safe\u{d}rm -rf`},
		"C1":               {"\u009b31m", `\u{9b}31m`, `\u{9b}31m`},
		"bytes":            {"a\x9b\xff", `a\x{9b}\x{ff}`, `a\x{9b}\x{ff}`},
		"replacement":      {"a\ufffd\x00", "a\ufffd" + `\u{0}`, "a\ufffd" + `\u{0}`},
		"cut at the end":   {"\x00\xef", `\u{0}\x{ef}`, `\u{0}\x{ef}`},
		"bidi":             {"a\u202eb\u2066", `a\u{202e}b\u{2066}`, `a\u{202e}b\u{2066}`},
		"marks of bidi":    {"\u200e\u200f\u061c", `\u{200e}\u{200f}\u{61c}`, `\u{200e}\u{200f}\u{61c}`},
		"tags":             {"ok\U000e0041\U000e007f", `ok\u{e0041}\u{e007f}`, `ok\u{e0041}\u{e007f}`},
		"no width":         {"pay\u200bpal\u2060\ufeff", `pay\u{200b}pal\u{2060}\u{feff}`, `pay\u{200b}pal\u{2060}\u{feff}`},
		"no shape":         {"rm\u3164-r \uffa0", `rm\u{3164}-r \u{ffa0}`, "rm\u3164-r \uffa0"},
		"separators":       {"a\u2028b\u2029c", `a\u{2028}b\u{2029}c`, `a\u{2028}b\u{2029}c`},
		"soft hyphen":      {"a\u00adb", `a\u{ad}b`, `a\u{ad}b`},
		"family of emoji":  {"👩\u200d👧 ❤\ufe0f", `👩\u{200d}👧 ❤` + "\ufe0f", "👩\u200d👧 ❤\ufe0f"},
		"Persian":          {"می\u200cخواهم", `می\u{200c}خواهم`, "می\u200cخواهم"},
		"spaces of others": {"a\u3000b\u00a0c", "a\u3000b\u00a0c", "a\u3000b\u00a0c"},
		"icons of a font":  {"\ue0b0", "\ue0b0", "\ue0b0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := visible.Text(c.in); got != c.text {
				t.Errorf("Text(%q) = %q, want %q", c.in, got, c.text)
			}
			if got := visible.Prose(c.in); got != c.prose {
				t.Errorf("Prose(%q) = %q, want %q", c.in, got, c.prose)
			}
		})
	}
}

func TestStrip(t *testing.T) {
	t.Parallel()
	const in, want = "a\x1b[31m\u009b\r\n\tb\u202ec\u2066\u200dd\xff", "a[31m\n\tbc\u200dd\ufffd"
	if got := visible.Strip(in); got != want {
		t.Errorf("Strip(%q) = %q, want %q", in, got, want)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in        string
		limit     int
		cut, tail string
	}{
		"short":           {"äö", 4, "äö", "äö"},
		"inside of a":     {"äö", 3, "ä…", "ö"},
		"between letters": {"äö", 2, "ä…", "ö"},
		"nothing fits":    {"äö", 1, "…", ""},
		"zero":            {"a", 0, "…", ""},
		"not UTF-8":       {"\xffab", 2, "a…", "ab"},
		"empty":           {"", 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := visible.Cut(c.in, c.limit, "…"); got != c.cut {
				t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.limit, got, c.cut)
			}
			if got := visible.Tail(c.in, c.limit); got != c.tail {
				t.Errorf("Tail(%q, %d) = %q, want %q", c.in, c.limit, got, c.tail)
			}
		})
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	words, solid := strings.Repeat("word ", 300), strings.Repeat("ä", 1500)
	for name, c := range map[string]struct{ in, want string }{
		"short lines":  {"a\nb\n", "a\nb\n"},
		"a line fits":  {strings.Repeat("x", 2000) + "\ny", strings.Repeat("x", 2000) + "\ny"},
		"words":        {words + words + "end", words + words[:500] + "\n" + words[500:] + "end"},
		"no words":     {"a" + solid + "\nend", "a" + solid[:1998] + "\n" + solid[1998:] + "\nend"},
		"not UTF-8":    {strings.Repeat("\xff", 2001), strings.Repeat("\xff", 1996) + "\n" + strings.Repeat("\xff", 5)},
		"without text": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := visible.Fold(c.in); got != c.want {
				t.Errorf("Fold(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b]0;title\x07\n\tb")
	f.Add("\u202e\xff\u200d\xef\xbf")
	f.Fuzz(func(t *testing.T, s string) {
		text, prose := visible.Text(s), visible.Prose(s)
		for name, shown := range map[string]string{"Text": text, "Prose": strings.NewReplacer("\u200c", "", "\u200d", "").Replace(prose)} {
			if !utf8.ValidString(shown) {
				t.Errorf("%s(%q) = %q, which is not UTF-8", name, s, shown)
			}
			for _, r := range shown {
				if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
					t.Errorf("%s(%q) holds %q", name, s, r)
				}
			}
		}
		if visible.Text(text) != text || visible.Prose(prose) != prose {
			t.Errorf("of %q, what was cleaned once is cleaned again", s)
		}
	})
}

func TestWord(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"docs": "docs", "./a-b@1": "./a-b@1", "not there": "'not there'", "$HOME": "'$HOME'", "it's": `'it'\''s'`} {
		if got := visible.Word(in); got != want {
			t.Errorf("Word(%q) = %s, want %s", in, got, want)
		}
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

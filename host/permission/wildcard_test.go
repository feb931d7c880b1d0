package permission_test

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host/permission"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pattern, text string
		want          bool
	}{
		"literal":                    {"src/a.go", "src/a.go", true},
		"anchored at the start":      {"a.go", "src/a.go", false},
		"anchored at the end":        {"src", "src/a.go", false},
		"star takes slashes":         {"src/*", "src/a/b/c.go", true},
		"star takes newlines":        {"echo *", "echo a\nrm b", true},
		"star takes nothing":         {"src/*", "src/", true},
		"stars inside":               {"a*b*c", "axxbyybzc", true},
		"stars inside, no end":       {"a*b*c", "axxbyybz", false},
		"two stars":                  {"**", "", true},
		"question mark":              {"a?c", "abc", true},
		"question mark takes one":    {"a?c", "ac", false},
		"question mark, newline":     {"a?c", "a\nc", true},
		"question mark, one rune":    {"a?c", "aüc", true},
		"question mark, other bytes": {"a?c", "a\xffc", true},
		"star before a rune":         {"*ü", "üxü", true},
		"backslash in the text":      {"src/*.go", `src\a.go`, true},
		"backslash in the pattern":   {`src\*.go`, "src/a.go", true},
		"tail is optional":           {"git *", "git", true},
		"tail as usual":              {"git *", "git push", true},
		"tail needs its space":       {"git *", "gitk", false},
		"tail with wildcards":        {"g?t * --force *", "got x --force", true},
		"one tail alone":             {"git * *", "git", false},
		"tail of a tail":             {"git * *", "git x", true},
		"only a tail":                {" *", "", true},
		"dots are dots":              {"*.env", "xenv", false},
		"brackets are brackets":      {"[ab]", "a", false},
		"braces are braces":          {"{a,b}", "a", false},
		"empty pattern":              {"", "", true},
		"empty pattern, text":        {"", "a", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := permission.Match(tt.pattern, tt.text); got != tt.want {
				t.Errorf("Match(%q, %q) = %v, want %v", tt.pattern, tt.text, got, tt.want)
			}
		})
	}
}

func TestMatchIsNeverExponential(t *testing.T) {
	t.Parallel()
	pattern, text := strings.Repeat("*a", 40)+"b", strings.Repeat("a", 20_000)
	start := time.Now()
	if permission.Match(pattern, text) {
		t.Error("matched")
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

// slowMatch is the definition, by way of a regular expression.
func slowMatch(pattern, text string) bool {
	fold := func(s string) string {
		s = strings.ReplaceAll(s, `\`, "/")
		if runtime.GOOS == "windows" {
			s = strings.ToLower(s)
		}
		return s
	}
	pattern, text = fold(pattern), fold(text)
	body, tail := pattern, ""
	if short, ok := strings.CutSuffix(pattern, " *"); ok {
		body, tail = short, "( .*)?"
	}
	expr := regexp.QuoteMeta(body)
	expr = strings.ReplaceAll(strings.ReplaceAll(expr, `\*`, ".*"), `\?`, ".")
	return regexp.MustCompile(`(?s)\A` + expr + tail + `\z`).MatchString(text)
}

func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{
		{"git *", "git"}, {"a*b?c*", "axxbyc"}, {`\*`, "/x"}, {"* *", " "}, {"?ü*", "aü"}, {"**?", "\n"}, {"a.b", "axb"}, {" * *", "  "},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		// The definition is about characters; what a regular expression makes of other bytes is its own affair.
		pattern, text = strings.ToValidUTF8(pattern, "·"), strings.ToValidUTF8(text, "·")
		if len(pattern) > 100 {
			return
		}
		if got, want := permission.Match(pattern, text), slowMatch(pattern, text); got != want {
			t.Errorf("Match(%q, %q) = %v, want %v", pattern, text, got, want)
		}
	})
}

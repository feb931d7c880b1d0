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
		"literal":                     {"src/a.go", "src/a.go", true},
		"anchored at the start":       {"a.go", "src/a.go", false},
		"anchored at the end":         {"src", "src/a.go", false},
		"star takes slashes":          {"src/*", "src/a/b/c.go", true},
		"star takes newlines":         {"echo *", "echo a\nrm b", true},
		"star takes nothing":          {"src/*", "src/", true},
		"stars inside":                {"a*b*c", "axxbyybzc", true},
		"stars inside, no end":        {"a*b*c", "axxbyybz", false},
		"two stars":                   {"**", "", true},
		"question mark":               {"a?c", "abc", true},
		"question mark takes one":     {"a?c", "ac", false},
		"question mark, newline":      {"a?c", "a\nc", true},
		"question mark, one rune":     {"a?c", "aüc", true},
		"question mark, other bytes":  {"a?c", "a\xffc", true},
		"star before a rune":          {"*ü", "üxü", true},
		"backslash in the text":       {"src/*.go", `src\a.go`, true},
		"backslash in the pattern":    {`src\*.go`, "src/a.go", true},
		"tail is optional":            {"git *", "git", true},
		"tail as usual":               {"git *", "git push", true},
		"tail needs its space":        {"git *", "gitk", false},
		"tail with wildcards":         {"g?t * --force *", "got x --force", true},
		"one tail alone":              {"git * *", "git", false},
		"tail of a tail":              {"git * *", "git x", true},
		"only a tail":                 {" *", "", true},
		"case":                        {"*.env", ".ENV", foldsCase},
		"dots are dots":               {"*.env", "xenv", false},
		"brackets are brackets":       {"[ab]", "a", false},
		"braces are braces":           {"{a,b}", "a", false},
		"host, star":                  {"http://*.example.com/*", "http://a.example.com/x", true},
		"host, star takes dots":       {"http://*.example.com/*", "http://a.b.example.com/x/y", true},
		"host, star stops at /":       {"http://*.example.com/*", "http://evil/x.example.com/", false},
		"host, question mark":         {"http://h?x/*", "http://h/x/", false},
		"host, star stops at ?":       {"http://*.example.com/*", "http://evil?.example.com/", false},
		"host, star stops at #":       {"http://*.example.com/*", "http://evil#.example.com/", false},
		"no path, query":              {"http://h*", "http://h?x", true},
		"host, backslash":             {"http://*.example.com/*", `http://evil\x.example.com/`, false},
		"scheme, star":                {"*://example.com/*", "http://example.com/", true},
		"scheme, star stops at /":     {"*://example.com/*", "http://evil/://example.com/", false},
		"scheme, star takes no host":  {"h*://example.com/*", "http://evil?://example.com/", false},
		"any port":                    {"http://localhost:*/*", "http://localhost:80/a", true},
		"a port is not a host":        {"http://localhost:*/*", "http://localhost:80@evil/a", true}, // addresses with a user are refused
		"path, star takes slashes":    {"http://h/*", "http://h/a/b", true},
		"path, literal":               {"http://h/a", "http://h/a", true},
		"path, optional tail":         {"http://h/a *", "http://h/a", true},
		"no path, star":               {"https://*", "https://h/a/b", true},
		"no path, star behind text":   {"https://h*", "https://h.example/a", true},
		"no path, inner star":         {"https://*.example.com*", "https://evil/x.example.com/", false},
		"no path":                     {"https://*.example.com", "https://evil/x.example.com", false},
		"no path is /":                {"https://h.example", "https://h.example/", true},
		"no path is only /":           {"https://h.example", "https://h.example/a", false},
		"host, case":                  {"HTTPS://Example.com/A*", "https://example.com/Ab", true},
		"host, case of the text":      {"x://example.com/*", "x://Example.com/a", true},
		"path, case":                  {"https://h/A", "https://h/a", foldsCase},
		"a command is not an address": {"curl https://*.com x", "curl https://a/b.com x", true},
		"address against a path":      {"http://*/*", "/http:/x", false},
		"address without a path":      {"http://h/*", "http://h", false},
		"empty pattern":               {"", "", true},
		"empty pattern, text":         {"", "a", false},
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

const foldsCase = runtime.GOOS == "windows" || runtime.GOOS == "darwin"

// slowMatch is the definition, by way of a regular expression.
func slowMatch(pattern, text string) bool {
	fold := func(s string) string {
		s = strings.ReplaceAll(s, `\`, "/")
		if foldsCase {
			s = strings.ToLower(s)
		}
		return s
	}
	pattern, text = fold(pattern), fold(text)
	if scheme, rest, ok := strings.Cut(pattern, "://"); ok && regexp.MustCompile(`^[A-Za-z0-9+.*?-]+$`).MatchString(scheme) {
		server, _, _ := strings.Cut(rest, "/")
		path := rest[len(server):]
		if path == "" && strings.HasSuffix(server, "*") {
			path = "*"
		}
		textScheme, textRest, ok := strings.Cut(text, "://")
		textServer := textRest
		if end := strings.IndexAny(textRest, "/?#"); end >= 0 {
			textServer = textRest[:end]
		}
		return ok && slowPart(scheme+"://"+server, textScheme+"://"+textServer) && slowMatch(path, textRest[len(textServer):])
	}
	body, tail := pattern, ""
	if short, ok := strings.CutSuffix(pattern, " *"); ok {
		body, tail = short, "( .*)?"
	}
	return regexp.MustCompile(`(?s)\A` + expression(body) + tail + `\z`).MatchString(text)
}

// slowPart is slowMatch without the optional tail.
func slowPart(pattern, text string) bool {
	return regexp.MustCompile(`(?s)\A` + expression(pattern) + `\z`).MatchString(text)
}

func expression(pattern string) string {
	return strings.ReplaceAll(strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*"), `\?`, ".")
}

func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{
		{"git *", "git"}, {"a*b?c*", "axxbyc"}, {`\*`, "/x"}, {"* *", " "}, {"?ü*", "aü"}, {"**?", "\n"}, {"a.b", "axb"}, {" * *", "  "},
		{"h*://*.b/*", "http://a.b/c"}, {"*://?*", "a://b/c"}, {"a://b/ *", "a://b/"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		// The definition is about characters; how a regular expression treats other bytes does not matter.
		pattern, text = strings.ToValidUTF8(pattern, "·"), strings.ToValidUTF8(text, "·")
		if len(pattern) > 100 {
			return
		}
		if got, want := permission.Match(pattern, text), slowMatch(pattern, text); got != want {
			t.Errorf("Match(%q, %q) = %v, want %v", pattern, text, got, want)
		}
	})
}

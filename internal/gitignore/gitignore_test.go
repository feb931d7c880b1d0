package gitignore

import (
	"strings"
	"testing"
	"time"
)

// FuzzRules feeds any rules and paths to the matcher: they must neither panic nor take long.
func FuzzRules(f *testing.F) {
	f.Add("*.log\n!/a/**/b\n[[:alpha:]]\\ \n[a-\n**/*/**\n", "a/b.log")
	f.Add("*a*a*a*a*a*a*a*b\n**/a/**/a/**/a/**\n[]\n[!]\n[[:x\n\\\n!\n/\n#\n", strings.Repeat("a", 60)+"/a/a/a")
	f.Add("**/a**/a**/a**/a**/a**/b", strings.Repeat("a/", 20)+"a")
	f.Fuzz(func(t *testing.T, text, path string) {
		if path == "" || len(path) > 1000 || len(text) > 1000 {
			return
		}
		start := time.Now()
		Rules(nil).Add("", []byte(text)).Match("/"+path, false)
		if took := time.Since(start); took > time.Second {
			t.Errorf("%q for %q took %v", text, path, took)
		}
	})
}

func TestTrimSpaces(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"": "", "   ": "", "a": "a", "a  ": "a", `a\ `: `a\ `, `a\  `: `a\ `, "a b ": "a b", `a\`: `a\`, "a\t": "a\t", " a": " a",
	} {
		if got := trimSpaces(line); got != want {
			t.Errorf("trimSpaces(%q) = %q, want %q", line, got, want)
		}
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	rules := Rules(nil).Add("/", []byte("[[:alpha:]_]x\n[^[:digit:][:space:]]y\n[[:xdigit:]]z\n"))
	for path, want := range map[string]bool{"/ax": true, "/_x": true, "/1x": false, "/ay": true, "/1y": false, "/ y": false, "/fz": true, "/gz": false} {
		if _, got := rules.Match(path, false); got != want {
			t.Errorf("%s is ignored: %t, want %t", path, got, want)
		}
	}
}

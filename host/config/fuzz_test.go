package config_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenonhq/tenon/host/config"
)

// Whatever a source contains, Load either returns a configuration that can be encoded and redacted, or problems
// with places that exist.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "[]", "{", "\"", "// x", "/*", "\ufeff{}", "{\"model\": \"a/b\",}", withSecrets,
		`{"permission": {"bash": {"*": "ask"}}, "tools": {"x": false}, "mode": {"a": {"mode": "all"}}}`,
		`{"mode": {"a": {"tools": {}}}, "agent": {"a": {}}}`, `{"plugins": ["./a", ["b", {}], {"path": "c"}, [], [1]]}`,
		`{"provider": {"": {"npm": "x", "api": "{env:X}{file:}"}}}`, `{"provider": {"p": {"options": {"apikey": null, "timeout": false}}}}`,
		`{"mcp": {"m": {"enabled": false}, "n": {"type": "local"}}}`, `{"a\u0000b": 1, "$schema": "\ud800"}`, `{"model": "x", "model": -1}`,
		`{"hooks": {"a": [[[[1e400]]]]}}`, "{\"username\":\n\"\n\"}", `{"permission": [{"permission": "a", "pattern": "b", "action": "deny", "origin": "x"}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "{file:") {
			return // would read whatever the fuzzer names
		}
		o := config.Options{Directory: "/nowhere/at/all", Home: "/nowhere", Environ: []string{"TENON_CONFIG_CONTENT=" + text, "TENON_PERMISSION=" + text, "X=env-value"}}
		l, err := config.Load(t.Context(), o)
		if err == nil {
			if _, err := json.Marshal(l.Config); err != nil {
				t.Errorf("encode: %v", err)
			}
			if _, err := l.Redacted(); err != nil {
				t.Errorf("redact: %v", err)
			}
			for key, origin := range l.Origins {
				checkPlace(t, text, key, origin.Line, origin.Column)
			}
			return
		}
		var list *config.Error
		if !errors.Is(err, config.ErrConfig) || !errors.As(err, &list) || len(list.Problems) == 0 {
			t.Fatalf("error = %v, want one that wraps ErrConfig", err)
		}
		for _, p := range list.Problems {
			checkPlace(t, text, p.Key, p.Line, p.Column)
			if p.Message == "" || p.File == "" || !utf8.ValidString(p.String()) {
				t.Errorf("problem %q", p.String())
			}
		}
	})
}

func checkPlace(t *testing.T, text, key string, line, column int) {
	t.Helper()
	if line == 0 && column == 0 {
		return
	}
	lines := strings.Split(strings.TrimPrefix(text, "\ufeff")+"\n", "\n")
	if line < 1 || line > len(lines) {
		t.Fatalf("%s: line %d of %d", key, line, len(lines))
	}
	if most := utf8.RuneCountInString(lines[line-1]) + 1; column < 1 || column > most {
		t.Fatalf("%s: column %d of %d in line %d", key, column, most, line)
	}
}

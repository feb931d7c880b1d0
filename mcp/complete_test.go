package mcp_test

import (
	"strings"
	"testing"
)

// Tab completes the arguments of a prompt with the server's suggestions.
func TestCompleteCommand(t *testing.T) {
	t.Parallel()
	p := ready(t, newTestHost(t), fake(t, "plain"))
	tests := map[string]struct{ typed, want, params string }{
		"first":          {"ma", "main.go", `"argument":{"name":"file","value":"ma"}`},
		"nothing yet":    {"", "main.go", `"argument":{"name":"file","value":""}`},
		"second":         {"main.go x", "main.go", `"argument":{"name":"note","value":"x"},"context":{"arguments":{"file":"main.go"}}`},
		"by name":        {"note=x", "note=main.go", `"argument":{"name":"note","value":"x"}`},
		"quoted":         {`"main.go" x`, "main.go", `"context":{"arguments":{"file":"main.go"}}`},
		"in quotes":      {`"my n"`, "", ""},
		"in open quotes": {`"my n`, "", ""},
		"too many words": {"a b c d", "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := p.CompleteCommand(t.Context(), "fake:review_code", test.typed)
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" {
				if len(list) > 0 {
					t.Errorf("suggestions %q", list)
				}
				return
			}
			if prefix, _, _ := strings.Cut(test.want, "main.go"); len(list) == 3 && list[1] != prefix+`"my \"notes\".md"` {
				t.Errorf("a suggestion with spaces is not quoted: %s", list[1])
			}
			if len(list) != 3 || list[0] != test.want || !strings.Contains(strings.ReplaceAll(list[2], `\"`, `"`), test.params) {
				t.Errorf("suggestions %q, want %q first, and a request with %s", list, test.want, test.params)
			}
		})
	}
}

// Tab completes the mention of a resource with the server's resources.
func TestCompleteReference(t *testing.T) {
	t.Parallel()
	p := ready(t, newTestHost(t), fake(t, "plain"))
	for typed, want := range map[string]string{"@fake:": "@fake:note://a", "@fake:note:": "@fake:note://a", "@fake:other": "", "@other:": "", "@fake": "@fake:note://a"} {
		list, err := p.CompleteCommand(t.Context(), "@", typed)
		if err != nil || strings.Join(list, " ") != want {
			t.Errorf("%s: suggestions %q, %v, want %q", typed, list, err, want)
		}
	}
}

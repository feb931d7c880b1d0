package main

import (
	"encoding/json"
	"testing"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		permission, pattern, options string
		denied                       bool
	}{
		"push":               {"bash", "git push origin main", `{}`, false},
		"force":              {"bash", "git push --force", `{}`, true},
		"short":              {"bash", "git push -f origin main", `{}`, true},
		"among others":       {"bash", "git push -uf origin main", `{}`, true},
		"plus":               {"bash", "git push origin +main", `{}`, true},
		"quoted":             {"bash", `git push "--force"`, `{}`, true},
		"in another folder":  {"bash", "/usr/bin/git -C ../other push -f", `{}`, true},
		"with lease":         {"bash", "git push --force-with-lease", `{}`, false},
		"other command":      {"bash", "rm -f push", `{}`, false},
		"empty command":      {"bash", "", `{}`, false},
		"inside":             {"edit", "src/a.go", `{}`, false},
		"the folder itself":  {"edit", "src", `{}`, false},
		"outside":            {"edit", "go.mod", `{}`, true},
		"a like name":        {"edit", "src2/a.go", `{}`, true},
		"up and out":         {"edit", "src/../go.mod", `{}`, true},
		"absolute":           {"edit", "/etc/passwd", `{}`, true},
		"configured":         {"edit", "docs/a.md", `{"editable":["docs/"]}`, false},
		"not any more":       {"edit", "src/a.go", `{"editable":["docs/"]}`, true},
		"the whole project":  {"edit", "go.mod", `{"editable":["."]}`, false},
		"not beyond it":      {"edit", "../go.mod", `{"editable":["."]}`, true},
		"external directory": {"external_directory", "/etc/*", `{}`, true},
		"read":               {"read", "go.mod", `{}`, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sdktest.Start(t, plugin(), sdktest.Options{Options: json.RawMessage(c.options)})
			answer, err := h.Fire(t.Context(), sdk.PointPermissionAsk, &sdk.PermissionRequest{Permission: c.permission, Patterns: []string{c.pattern}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if denied := answer.Verdict == sdk.VerdictDeny; denied != c.denied || denied && answer.Reason == "" || !denied && answer.Verdict != sdk.VerdictAbstain {
				t.Errorf("%s %q: %q, %q", c.permission, c.pattern, answer.Verdict, answer.Reason)
			}
		})
	}
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	h := sdktest.New(plugin(), sdktest.Options{Options: json.RawMessage(`{"editable":"src"}`)})
	if err := h.Start(t.Context()); err == nil {
		t.Error("started with bad options")
	}
}

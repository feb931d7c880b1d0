package commands_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/commands"
	"github.com/tenonhq/tenon/builtin/internal/testhost"
	"github.com/tenonhq/tenon/sdk"
)

func list(t *testing.T, h *testhost.Host) map[string]sdk.Command {
	t.Helper()
	p := commands.New()
	if err := p.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	all, err := p.Commands(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]sdk.Command{}
	for i, c := range all {
		if i > 0 && all[i-1].Name >= c.Name {
			t.Errorf("%q comes before %q", all[i-1].Name, c.Name)
		}
		out[c.Name] = c
	}
	return out
}

func TestBuiltins(t *testing.T) {
	t.Parallel()
	all := list(t, testhost.New(t))
	if len(all) != 2 {
		t.Errorf("commands %v", all)
	}
	for _, name := range []string{"init", "review"} {
		if c := all[name]; c.Description == "" || !strings.Contains(c.Template, "$ARGUMENTS") {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if c := all["review"]; c.Subtask == nil || !*c.Subtask {
		t.Error("review is not a subtask")
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	no := false
	h.Settings.Command = map[string]sdk.CommandConfig{
		"review": {Template: "ours"}, "conf": {Template: "t", Description: "d", Agent: "plan", Model: "a/b", Variant: "v", Subtask: &no},
		"near": {Template: "of the configuration"},
	}
	testhost.Write(t, filepath.Join(h.Place.ConfigDir, "command", "near.md"), "of the user")
	testhost.Write(t, filepath.Join(h.Place.Worktree, ".opencode", "commands", "git", "log.md"), "---\nname: log\ndescription: shows it\nagent: explore\nmodel: a/b\nsubtask: true\nallowed-tools: Bash\n---\nShow $1.")
	testhost.Write(t, filepath.Join(h.Place.Directory, ".tenon", "command", "near.md"), "of the directory")
	all := list(t, h)
	yes := true
	want := map[string]sdk.Command{
		"conf": {Name: "conf", Template: "t", Description: "d", Agent: "plan", Model: "a/b", Variant: "v", Subtask: &no, Source: "command", Origin: "configuration"},
		"log": {Name: "log", Template: "Show $1.", Description: "shows it", Agent: "explore", Model: "a/b", Subtask: &yes, Source: "command", Origin: filepath.Join("~", "p", ".opencode", "commands", "git", "log.md"),
			Digest: "4f366e704934512185f1f75c5c35ad4d55dd81f3daa539af0fa474da1a2ba353"}, // sha256sum of the file
		"near":   {Name: "near", Template: "of the directory", Source: "command", Origin: ".tenon/command/near.md", Digest: "63b2fa73b2391c7b2d8b0956df5c7fe64f701792d1dcc3a64ce8eb2cb401ecf3"},
		"review": {Name: "review", Template: "ours", Source: "command", Origin: "configuration"},
	}
	delete(all, "init")
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("Commands (-want +got):\n%s", diff)
	}
	if log := h.Log.String(); !strings.Contains(log, "keys=allowed-tools") || strings.Contains(log, "left out") {
		t.Errorf("log %s", log)
	}
}

func TestBadFilesAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"empty":      {"", "no text below"},
		"no text":    {"---\ndescription: x\n---\n", "no text below"},
		"wrong type": {"---\nsubtask: maybe\n---\ntext", "want true or false, have string"},
		"bad YAML":   {"---\na: [\n---\ntext", "bad front matter"},
		"too large":  {strings.Repeat("x", 300<<10), "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := testhost.New(t)
			testhost.Write(t, filepath.Join(h.Place.Directory, ".tenon", "command", "bad.md"), c.text)
			testhost.Write(t, filepath.Join(h.Place.Directory, ".tenon", "command", "good.md"), "Good.")
			testhost.Write(t, filepath.Join(h.Place.Directory, ".tenon", "command", "review.md"), c.text)
			testhost.Write(t, filepath.Join(h.Place.ConfigDir, "command", "users.md"), "Mine.")
			testhost.Write(t, filepath.Join(h.Place.Directory, ".tenon", "command", "users.md"), "---\nname: other\nsubtask: maybe\n---\ntext")
			all := list(t, h)
			if all["users"].Template != "Mine." || !all["other"].Disabled {
				t.Errorf("commands %v, want that a file with a mistake disables only the command that it names", all)
			}
			if !all["bad"].Disabled || !all["review"].Disabled || all["good"].Template != "Good." {
				t.Errorf("commands %v", all)
			}
			if log := h.Log.String(); !strings.Contains(log, "bad.md") || !strings.Contains(log, c.want) {
				t.Errorf("log %s, want the file and %q", log, c.want)
			}
			if log := h.Log.String(); !strings.Contains(log, "command is disabled until its file is corrected\" command=review") {
				t.Errorf("no warning that review is disabled: %s", log)
			}
		})
	}
}

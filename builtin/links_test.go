package builtin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/agents"
	"github.com/tenonhq/tenon/builtin/commands"
	"github.com/tenonhq/tenon/builtin/instructions"
	"github.com/tenonhq/tenon/builtin/internal/testhost"
	"github.com/tenonhq/tenon/builtin/skills"
	"github.com/tenonhq/tenon/sdk"
)

// document is a file that every reader understands.
const document = "---\nname: x\ndescription: SECRET\n---\nSECRET\n"

// contributed returns all that the plugins which read files of the project make of them, as text.
func contributed(t *testing.T, h *testhost.Host) string {
	t.Helper()
	var out []any
	i, a, c, s := instructions.New(), agents.New(), commands.New(), skills.New()
	for _, p := range []sdk.Plugin{i, a, c, s} {
		if err := p.Start(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	v := &sdk.ChatSystemValue{}
	if _, err := i.Hooks()[0].Handler.Handle(t.Context(), &sdk.HookCall{Input: &sdk.ChatInput{Purpose: sdk.PurposeTurn}, Value: v}); err != nil {
		t.Fatal(err)
	}
	listed, err := c.Commands(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Skills(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(append(out, v, a.Agents(), listed, found))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A repository cannot make tenon read files outside of it by links; links that stay inside, and the user's own, are followed.
func TestLinksOfTheProject(t *testing.T) {
	t.Parallel()
	const secret, shared = "ssh/id_rsa", "ssh"
	for name, tt := range map[string]struct{ link, target string }{
		"AGENTS.md":                {"AGENTS.md", secret},
		"CLAUDE.md":                {"CLAUDE.md", secret},
		"AGENTS.md further down":   {"sub/AGENTS.md", secret},
		"instructions, a pattern":  {"docs/x.md", secret},
		"instructions, a folder":   {"docs", shared},
		"instructions, a name":     {"named.txt", secret},
		"agent":                    {".tenon/agents/x.md", secret},
		"agents":                   {".tenon/agents", shared},
		"command":                  {".tenon/commands/x.md", secret},
		"commands":                 {".opencode/command", shared},
		"skill's file":             {".tenon/skills/x/SKILL.md", secret},
		"skill's folder":           {".tenon/skills/x", shared},
		"skills":                   {".claude/skills", "shared"},
		"skills of other programs": {".agents/skills", "shared"},
		"skills.paths":             {"more", "shared"},
		".tenon":                   {".tenon", "config"},
		".opencode":                {".opencode", "config"},
	} {
		for kind, inside := range map[string]bool{"out": false, "inside": true} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				h := testhost.New(t)
				h.Settings.Instructions = []string{"docs/*.md", "named.txt"}
				h.Settings.Skills.Paths = []string{"../more"}
				base := filepath.Join(h.Place.Home, "private")
				if inside {
					base = filepath.Join(h.Place.Worktree, "private")
				}
				for _, path := range []string{"ssh/id_rsa", "ssh/x.md", "ssh/SKILL.md", "shared/x/SKILL.md", "config/agents/x.md", "config/skills/x/SKILL.md"} {
					testhost.Write(t, filepath.Join(base, path), document)
				}
				path := filepath.Join(h.Place.Worktree, tt.link)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.MkdirAll(h.Place.Directory, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(filepath.Join(base, tt.target), path); err != nil {
					t.Skip(err)
				}
				got := contributed(t, h)
				if strings.Contains(got, "SECRET") != inside {
					t.Errorf("what is read through the link: %s", got)
				}
				if told := strings.Contains(h.Log.String(), "leads out of the project"); told == inside {
					t.Errorf("the log is %q", h.Log.String())
				}
			})
		}
	}
}

func TestLinksOfTheUser(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]string{
		"AGENTS.md": "conf/AGENTS.md", "CLAUDE.md": ".claude/CLAUDE.md", "agent": "conf/agents/x.md", "command": "conf/commands/x.md",
		"skill": "conf/skills/x/SKILL.md", "skill of another program": ".claude/skills/x/SKILL.md",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := testhost.New(t)
			h.Place.Worktree, h.Place.Directory = h.Place.Home, h.Place.Home // the home directory as a project
			target := testhost.Write(t, filepath.Join(t.TempDir(), "dotfiles", "x.md"), document)
			path := filepath.Join(h.Place.Home, link)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, path); err != nil {
				t.Skip(err)
			}
			if got := contributed(t, h); !strings.Contains(got, "SECRET") {
				t.Errorf("the user's own link is not followed: %s\n%s", got, h.Log.String())
			}
		})
	}
}

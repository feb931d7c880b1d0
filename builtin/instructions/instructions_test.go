package instructions_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/instructions"
	"github.com/tenonhq/tenon/builtin/internal/testhost"
	"github.com/tenonhq/tenon/sdk"
)

func start(tb testing.TB, h *testhost.Host) *instructions.Plugin {
	tb.Helper()
	p := instructions.New()
	if err := p.Start(tb.Context(), h); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

func added(tb testing.TB, p *instructions.Plugin, purpose sdk.Purpose) string {
	tb.Helper()
	v := &sdk.ChatSystemValue{System: []string{"base"}}
	if _, err := p.Hooks()[0].Handler.Handle(tb.Context(), &sdk.HookCall{Input: &sdk.ChatInput{Purpose: purpose}, Value: v}); err != nil {
		tb.Fatal(err)
	}
	if v.System[0] != "base" || len(v.System) > 2 {
		tb.Errorf("system %q", v.System)
	}
	return strings.Join(v.System[1:], "")
}

// TestFiles writes files, paths relative to the home directory, each with its path as text, and expects
// those of want in that order. The session works in p/sub of the project p.
func TestFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files  []string
		config []string
		want   []string
	}{
		"none":             {nil, nil, nil},
		"upward":           {[]string{"p/AGENTS.md", "p/sub/AGENTS.md", "AGENTS.md"}, nil, []string{"p/AGENTS.md", "p/sub/AGENTS.md"}},
		"one name":         {[]string{"p/AGENTS.md", "p/sub/CLAUDE.md", "p/CONTEXT.md"}, nil, []string{"p/AGENTS.md"}},
		"first fallback":   {[]string{"p/CLAUDE.md", "p/sub/CONTEXT.md"}, nil, []string{"p/CLAUDE.md"}},
		"second fallback":  {[]string{"p/sub/CONTEXT.md"}, nil, []string{"p/sub/CONTEXT.md"}},
		"the user's":       {[]string{"conf/AGENTS.md", ".claude/CLAUDE.md", "p/AGENTS.md"}, nil, []string{"conf/AGENTS.md", "p/AGENTS.md"}},
		"user's fallback":  {[]string{".claude/CLAUDE.md"}, nil, []string{".claude/CLAUDE.md"}},
		"configured":       {[]string{"p/docs/rules.md", "p/sub/x.md", "notes.md"}, []string{"docs/rules.md", "x.md", "~/notes.md"}, []string{"p/docs/rules.md", "p/sub/x.md", "notes.md"}},
		"globs":            {[]string{"p/docs/a.md", "p/docs/b/c.md", "p/docs/d.txt"}, []string{"docs/**/*.md"}, []string{"p/docs/a.md", "p/docs/b/c.md"}},
		"braces":           {[]string{"p/a.md", "p/b.md", "p/c.md"}, []string{"{a,c}.md"}, []string{"p/a.md", "p/c.md"}},
		"endless braces":   {[]string{"p/" + strings.Repeat("a", 40) + ".md"}, []string{strings.Repeat("{,a}", 40) + "b"}, nil},
		"each file once":   {[]string{"p/AGENTS.md"}, []string{"AGENTS.md", "*.md"}, []string{"p/AGENTS.md"}},
		"configured, gone": {nil, []string{"nowhere.md"}, nil},
		"Claude Code's":    {[]string{"p/CLAUDE.local.md", "p/.claude/CLAUDE.md", "p/sub/CLAUDE.md"}, nil, []string{"p/.claude/CLAUDE.md", "p/CLAUDE.local.md", "p/sub/CLAUDE.md"}},
		"rules":            {[]string{".claude/rules/a.md", "p/.claude/rules/b/c.md", "p/.claude/rules/d.txt", "p/AGENTS.md"}, nil, []string{".claude/rules/a.md", "p/AGENTS.md", "p/.claude/rules/b/c.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := testhost.New(t)
			h.Settings.Instructions = c.config
			for _, file := range c.files {
				testhost.Write(t, filepath.Join(h.Place.Home, filepath.FromSlash(file)), "text of "+file+"\n")
			}
			var want []string
			for _, file := range c.want {
				want = append(want, "Instructions from: "+filepath.Join(h.Place.Home, filepath.FromSlash(file))+"\ntext of "+file)
			}
			p := start(t, h)
			for range 2 { // from the files, then from memory
				if diff := cmp.Diff(strings.Join(want, "\n\n"), added(t, p, sdk.PurposeTurn)); diff != "" {
					t.Errorf("added (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestBrackets works in a project whose directory has characters of a pattern in its name.
func TestBrackets(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	h.Place.Worktree = filepath.Join(h.Place.Home, "p [new] {x}")
	h.Place.Directory = h.Place.Worktree
	h.Settings.Instructions = []string{"docs/*.md", "x.md", "../n*.md"}
	for _, name := range []string{"docs/a.md", "x.md", "../notes.md"} {
		testhost.Write(t, filepath.Join(h.Place.Directory, name), "text of "+filepath.Base(name))
	}
	got := added(t, start(t, h), sdk.PurposeTurn)
	for _, want := range []string{"text of a.md", "text of x.md", "text of notes.md"} {
		if !strings.Contains(got, want) {
			t.Errorf("added %q, without %q; log: %s", got, want, h.Log.String())
		}
	}
}

// TestImports has a CLAUDE.md of the project and what it imports, files with their names as text.
func TestImports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want, log string }{
		"relative, each once": {"See @docs/a.md, and @docs/a.md.\n- @README.md", "a README", ""},
		"examples, comments":  {"```\n@README.md\n```\n@docs/a.md\n ~~~sh\n @README.md\n ~~~\n<!-- @README.md\n@README.md -->", "a", ""},
		"imports of imports":  {"@docs/again.md", "again a", ""}, // docs/again.md imports itself
		"absolute":            {"@ROOT/docs/a.md", "a", ""},
		"nothing there":       {"@docs/none.md @docs @docs/ a@docs/a.md", "", ""},
		"other files":         {"@.env @package.json", "", ""},
		"outside":             {"@~/notes.md @../notes.md", "", "outside the project"},
		"a link outside":      {"@docs/link.md", "", "leads out of the project"},
		"a link to secrets":   {"@docs/env.md", "", "can contain secrets"},
		"a link to Markdown":  {"@docs/readme.md", "README", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := testhost.New(t)
			root := h.Place.Worktree
			for path, text := range map[string]string{
				"p/README.md": "<README>", "p/docs/a.md": "<a>", "p/docs/again.md": "<again> @again.md @a.md", "p/.env": "<secret>", "p/package.json": "<package>", "notes.md": "<notes>",
				"p/CLAUDE.md": strings.ReplaceAll(c.text, "ROOT", root),
			} {
				testhost.Write(t, filepath.Join(h.Place.Home, filepath.FromSlash(path)), text)
			}
			for name, target := range map[string]string{"link.md": "../../notes.md", "env.md": "../.env", "readme.md": "../README.md"} {
				if err := os.Symlink(filepath.FromSlash(target), filepath.Join(root, "docs", name)); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, m := range regexp.MustCompile("<(.*?)>").FindAllStringSubmatch(added(t, start(t, h), sdk.PurposeTurn), -1) {
				got = append(got, m[1])
			}
			if strings.Join(got, " ") != c.want || (c.log == "") != (h.Log.Len() == 0) || !strings.Contains(h.Log.String(), c.log) {
				t.Errorf("imported %q, want %q; log %s", got, c.want, h.Log.String())
			}
		})
	}
}

// TestSecrets: a project sends no file to the model for which read requires approval, neither by a link nor by its configuration.
func TestSecrets(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	h.Settings.Instructions = []string{"*.env", "rules.txt"}
	testhost.Write(t, filepath.Join(h.Place.Worktree, ".env"), "TOKEN=secret")
	testhost.Write(t, filepath.Join(h.Place.Worktree, "prod.env"), "TOKEN=secret")
	testhost.Write(t, filepath.Join(h.Place.Worktree, "rules.txt"), "my rules")
	if err := os.Symlink(".env", filepath.Join(h.Place.Worktree, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	if got := added(t, start(t, h), sdk.PurposeTurn); strings.Contains(got, "secret") || !strings.Contains(got, "my rules") {
		t.Errorf("added %q", got)
	}
}

// TestImportsOfTheUser: the user's CLAUDE.md imports files from anywhere, AGENTS.md none, and no text imports without end.
func TestImportsOfTheUser(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	testhost.Write(t, filepath.Join(h.Place.Home, "notes.md"), "my notes")
	user := testhost.Write(t, filepath.Join(h.Place.Home, ".claude", "CLAUDE.md"), "@../notes.md")
	testhost.Write(t, filepath.Join(h.Place.Worktree, "AGENTS.md"), "@other.md")
	other := testhost.Write(t, filepath.Join(h.Place.Worktree, "other.md"), "other")
	p := start(t, h)
	if got := added(t, p, sdk.PurposeTurn); !strings.Contains(got, "my notes") || strings.Contains(got, other) {
		t.Errorf("added %q", got)
	}
	var many strings.Builder
	for i := range 200 {
		path := testhost.Write(t, filepath.Join(h.Place.Home, fmt.Sprintf("%d.md", i)), "one of them")
		many.WriteString("@" + path + "\n")
	}
	testhost.Write(t, user, many.String())
	if got := strings.Count(added(t, p, sdk.PurposeTurn), "one of them"); got != 100 {
		t.Errorf("%d files, want 100", got)
	}
}

// TestImportsOutside: a repository cannot fill the log with warnings.
func TestImportsOutside(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	testhost.Write(t, filepath.Join(h.Place.Worktree, "CLAUDE.md"), strings.Repeat("@../x.md ", 5000))
	added(t, start(t, h), sdk.PurposeTurn)
	if got := strings.Count(h.Log.String(), "import left out"); got != 100 {
		t.Errorf("%d warnings, want 100", got)
	}
}

func TestPurposes(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	testhost.Write(t, filepath.Join(h.Place.Worktree, "AGENTS.md"), "x")
	p := start(t, h)
	for purpose, want := range map[sdk.Purpose]bool{sdk.PurposeTurn: true, sdk.PurposeSubtask: true, sdk.PurposeTitle: false, sdk.PurposeCompaction: false} {
		if got := added(t, p, purpose) != ""; got != want {
			t.Errorf("%s: added %v, want %v", purpose, got, want)
		}
	}
}

func TestChangesAreSeen(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	p := start(t, h)
	path := filepath.Join(h.Place.Worktree, "AGENTS.md")
	for _, text := range []string{"", "one", "three", ""} {
		if text == "" {
			_ = os.Remove(path)
		} else {
			testhost.Write(t, path, text)
		}
		if got := added(t, p, sdk.PurposeTurn); !strings.HasSuffix(got, text) || (text == "") != (got == "") {
			t.Errorf("added %q, want %q in it", got, text)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	h.Settings.Instructions = []string{"many/*.md", "https://example.com/rules.md"}
	testhost.Write(t, filepath.Join(h.Place.Worktree, "AGENTS.md"), strings.Repeat("x", 100<<10))
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		testhost.Write(t, filepath.Join(h.Place.Worktree, "many", name+".md"), strings.Repeat(name, 60<<10))
	}
	if err := os.Mkdir(filepath.Join(h.Place.Worktree, "many", "dir.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	testhost.Write(t, filepath.Join(h.Place.Worktree, "many", "broken.md"), "\xff\xfe ok")
	got := added(t, start(t, h), sdk.PurposeTurn)
	if !strings.Contains(got, "[cut after 65536 bytes") || len(got) > 257<<10 || !strings.Contains(got, "\uFFFD ok") {
		t.Errorf("added %d bytes", len(got))
	}
	for _, want := range []string{"too large", "not fetched from URLs"} {
		if !strings.Contains(h.Log.String(), want) {
			t.Errorf("log misses %q: %s", want, h.Log.String())
		}
	}
}

// A repository with many files that do not fit causes few warnings.
func TestFewWarnings(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	for i := range 30 {
		testhost.Write(t, filepath.Join(h.Place.Worktree, ".claude", "rules", fmt.Sprintf("%02d.md", i)), strings.Repeat("x", 60<<10))
	}
	added(t, start(t, h), sdk.PurposeTurn)
	log := h.Log.String()
	if n := strings.Count(log, "too large: all instructions"); n != 5 || !strings.Contains(log, "04.md") || strings.Contains(log, "10.md") || !strings.Contains(log, "further instructions left out") {
		t.Errorf("%d warnings: %s", n, log)
	}
}

func BenchmarkHook(b *testing.B) {
	h := testhost.New(b)
	testhost.Write(b, filepath.Join(h.Place.Worktree, "AGENTS.md"), "x")
	p := start(b, h)
	b.ReportAllocs()
	for b.Loop() {
		added(b, p, sdk.PurposeTurn)
	}
}

package instructions_test

import (
	"context"
	"os"
	"path/filepath"
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
		"each file once":   {[]string{"p/AGENTS.md"}, []string{"AGENTS.md", "*.md"}, []string{"p/AGENTS.md"}},
		"configured, gone": {nil, []string{"nowhere.md"}, nil},
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
	for _, want := range []string{"too many", "not fetched from URLs"} {
		if !strings.Contains(h.Log.String(), want) {
			t.Errorf("log misses %q: %s", want, h.Log.String())
		}
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

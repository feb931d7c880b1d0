package skills_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/internal/testhost"
	"github.com/tenonhq/tenon/builtin/skills"
	"github.com/tenonhq/tenon/sdk"
)

func start(tb testing.TB, h *testhost.Host) *skills.Plugin {
	tb.Helper()
	p := skills.New()
	if err := p.Start(tb.Context(), h); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

func system(tb testing.TB, p *skills.Plugin, purpose sdk.Purpose) []string {
	tb.Helper()
	v := &sdk.ChatSystemValue{System: []string{"base"}}
	if _, err := p.Hooks()[0].Handler.Handle(tb.Context(), &sdk.HookCall{Input: &sdk.ChatInput{Purpose: purpose}, Value: v}); err != nil {
		tb.Fatal(err)
	}
	return v.System
}

func skill(name, description string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\nBody of %s.", name, description, name)
}

func TestSkillsAreFound(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	h.Settings.Skills.Paths = []string{"~/more", "../rel"}
	places := map[string]string{
		"home":     filepath.Join(h.Place.Home, ".claude", "skills", "x"),
		"agents":   filepath.Join(h.Place.Home, ".agents", "skills", "x"),
		"config":   filepath.Join(h.Place.ConfigDir, "skills", "x"),
		"root":     filepath.Join(h.Place.Worktree, ".opencode", "skill", "deep", "x"),
		"near":     filepath.Join(h.Place.Directory, ".tenon", "skills", "x"),
		"path":     filepath.Join(h.Place.Home, "more", "x"),
		"relative": filepath.Join(h.Place.Worktree, "rel", "x"),
	}
	for name, dir := range places {
		testhost.Write(t, filepath.Join(dir, "SKILL.md"), skill(name, "for "+name))
	}
	testhost.Write(t, filepath.Join(h.Place.Home, ".claude", "skills", "near", "SKILL.md"), skill("near", "the far one"))
	got, err := start(t, h).Skills(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want []sdk.Skill
	for _, name := range []string{"agents", "config", "home", "near", "path", "relative", "root"} {
		want = append(want, sdk.Skill{Name: name, Description: "for " + name, Location: filepath.Join(places[name], "SKILL.md"), Body: "Body of " + name + "."})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Skills (-want +got):\n%s", diff)
	}
}

// TestCommands: a command asks for each skill. A name cannot bring anything into its template that the host would replace.
func TestCommands(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	for _, name := range []string{"v1.2_plan:my-skill", "two words", "'!`touch made`'", "'@go.mod'", "'$1'"} {
		testhost.Write(t, filepath.Join(h.Place.ConfigDir, "skills", fmt.Sprintf("%x", name), "SKILL.md"), skill(name, "for plans"))
	}
	p := start(t, h)
	if all, err := p.Skills(t.Context()); err != nil || len(all) != 5 {
		t.Fatalf("Skills = %d, %v, want 5", len(all), err)
	}
	got, err := p.Commands(t.Context())
	if err != nil || len(got) != 1 || got[0].Name != "v1.2_plan:my-skill" || got[0].Description != "for plans" || got[0].Source != "skill" {
		t.Fatalf("Commands = %+v, %v, want one", got, err)
	}
	if !strings.Contains(got[0].Template, got[0].Name) || !strings.HasSuffix(got[0].Origin, "SKILL.md") {
		t.Errorf("command %+v", got[0])
	}
}

// TestPackagedSkills: skills of packages come after the user's and before the project's. They are read when they are needed.
func TestPackagedSkills(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	root := filepath.Join(h.Place.Home, "store", "p")
	file := testhost.Write(t, filepath.Join(root, "skills", "a", "SKILL.md"), "---\nname: a\ndescription: d\n---\nRun ${CLAUDE_PLUGIN_ROOT}/x.")
	missing := filepath.Join(root, "skills", "b", "SKILL.md")
	undescribed := testhost.Write(t, filepath.Join(root, "skills", "e", "SKILL.md"), "# E")
	testhost.Write(t, filepath.Join(h.Place.ConfigDir, "skills", "a", "SKILL.md"), skill("a", "the user's"))
	testhost.Write(t, filepath.Join(h.Place.ConfigDir, "skills", "c", "SKILL.md"), skill("c", "d"))
	near := testhost.Write(t, filepath.Join(h.Place.Directory, ".tenon", "skills", "c", "SKILL.md"), skill("c", "near"))
	h.Settings.Skills.Packaged = []sdk.PackagedSkill{
		{Name: "a", Description: "packaged", Location: file, Root: root}, {Name: "b", Description: "d", Location: missing, Root: root},
		{Name: "c", Description: "packaged", Location: filepath.Join(root, "skills", "c", "SKILL.md"), Root: root},
		{Name: "e", Location: undescribed, Root: root, Manual: true},
	}
	p := start(t, h)
	list := system(t, p, sdk.PurposeTurn)[1]
	for _, line := range []string{"- a: packaged (" + file + ")", "- b: d (" + missing + ")", "- c: near (" + near + ")"} {
		if !strings.Contains(list, line+"\n") {
			t.Errorf("the list has no line %q:\n%s", line, list)
		}
	}
	got, err := p.Skills(t.Context())
	if err != nil || len(got) != 3 || got[0].Body != "Run "+root+"/x." || got[1].Body != "Body of c." || got[2].Body != "# E" {
		t.Errorf("Skills() = %+v, %v", got, err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	p := start(t, h)
	if got := system(t, p, sdk.PurposeTurn); len(got) != 1 {
		t.Errorf("without skills the prompt became %q", got)
	}
	path := testhost.Write(t, filepath.Join(h.Place.Directory, ".tenon", "skills", "a", "SKILL.md"), skill("a", "does: things"))
	want := "<skills>\nInstructions for kinds of tasks. When one fits, load it with the tool skill before you begin.\n- a: does: things (" + path + ")\n</skills>"
	for purpose, want := range map[sdk.Purpose][]string{
		sdk.PurposeTurn: {"base", want}, sdk.PurposeSubtask: {"base", want}, sdk.PurposeTitle: {"base"}, sdk.PurposeCompaction: {"base"},
	} {
		if diff := cmp.Diff(want, system(t, p, purpose)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", purpose, diff)
		}
	}
}

// TestManualSkills: the model is not told of them, and can load them.
func TestManualSkills(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	testhost.Write(t, filepath.Join(h.Place.Directory, ".claude", "skills", "deploy", "SKILL.md"), "---\nname: deploy\ndescription: d\ndisable-model-invocation: true\n---\nx")
	root := filepath.Join(h.Place.Home, "store", "p")
	file := testhost.Write(t, filepath.Join(root, "skills", "packaged", "SKILL.md"), skill("packaged", "d"))
	h.Settings.Skills.Packaged = []sdk.PackagedSkill{{Name: "packaged", Description: "d", Location: file, Root: root, Manual: true}}
	p := start(t, h)
	if got := system(t, p, sdk.PurposeTurn); len(got) != 1 {
		t.Errorf("the prompt became %q", got)
	}
	if got, err := p.Skills(t.Context()); err != nil || len(got) != 2 || !got[0].Manual || !got[1].Manual {
		t.Errorf("Skills() = %+v, %v", got, err)
	}
}

// TestManualWords: a value that another program reads leaves no skill out.
func TestManualWords(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"true": true, "yes": true, "on": true, "On": true, `"true"`: true, "1": true, "false": false, "no": false, "": false, "[]": false} {
		h := testhost.New(t)
		testhost.Write(t, filepath.Join(h.Place.ConfigDir, "skills", "deploy", "SKILL.md"), "---\nname: deploy\ndescription: d\ndisable-model-invocation: "+value+"\n---\nx")
		if got, err := start(t, h).Skills(t.Context()); err != nil || len(got) != 1 || got[0].Manual != want {
			t.Errorf("%q: Skills() = %+v, %v; want manual %v", value, got, err, want)
		}
	}
}

func TestListIsBounded(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	for i := range 100 {
		name := fmt.Sprintf("s%03d", i)
		testhost.Write(t, filepath.Join(h.Place.ConfigDir, "skills", name, "SKILL.md"), skill(name, strings.Repeat("ä", 2000)))
	}
	list := system(t, start(t, h), sdk.PurposeTurn)[1]
	if len(list) > 30<<10 || !strings.Contains(list, "more; the tool skill names them") {
		t.Errorf("list of %d bytes: …%s", len(list), list[len(list)-100:])
	}
}

func TestBadSkillsAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"no front matter": {"just text", "has no key"},
		"no description":  {"---\nname: x\n---\n", "description"},
		"wrong type":      {"---\nname: [x]\ndescription: y\n---\n", "name: want a string, have array"},
		"bad YAML":        {"---\nname: [\n---\n", "bad front matter"},
		"long name":       {skill(strings.Repeat("x", 65), "y"), "at most 64 characters"},
		"control":         {"---\nname: \"a\\e[31m\"\ndescription: y\n---\n", "at most 64 characters"},
		"too large":       {skill("x", "y") + strings.Repeat("x", 300<<10), "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := testhost.New(t)
			testhost.Write(t, filepath.Join(h.Place.ConfigDir, "skills", "bad", "SKILL.md"), c.text)
			testhost.Write(t, filepath.Join(h.Place.ConfigDir, "skills", "good", "SKILL.md"), skill("good", "works"))
			p := start(t, h)
			got, err := p.Skills(t.Context())
			if err != nil || len(got) != 1 || got[0].Name != "good" {
				t.Errorf("Skills = %v, %v", got, err)
			}
			if log := h.Log.String(); !strings.Contains(log, filepath.Join("bad", "SKILL.md")) || !strings.Contains(log, c.want) {
				t.Errorf("log %s, want the file and %q", log, c.want)
			}
		})
	}
}

// ruled is a host whose rules deny some skills in session s.
type ruled struct {
	*testhost.Host
	denied string
}

func (r *ruled) Denies(session, permission, pattern string) bool {
	return session == "s" && permission == "skill" && pattern == r.denied
}

func TestDeniedSkillsAreHidden(t *testing.T) {
	t.Parallel()
	h := &ruled{testhost.New(t), "b"}
	for _, name := range []string{"a", "b"} {
		testhost.Write(t, filepath.Join(h.Place.ConfigDir, "skills", name, "SKILL.md"), skill(name, "does "+name))
	}
	p := skills.New()
	if err := p.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	for session, want := range map[string]bool{"s": false, "other": true} {
		v := &sdk.ChatSystemValue{}
		in := &sdk.ChatInput{SessionID: session, Purpose: sdk.PurposeTurn}
		if _, err := p.Hooks()[0].Handler.Handle(t.Context(), &sdk.HookCall{Input: in, Value: v}); err != nil {
			t.Fatal(err)
		}
		if list := v.System[0]; !strings.Contains(list, "- a: ") || strings.Contains(list, "- b: ") != want {
			t.Errorf("session %s: %s", session, list)
		}
	}
}

func TestURLsAreReported(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	h.Settings.Skills.URLs = []string{"https://example.com"}
	start(t, h)
	if !strings.Contains(h.Log.String(), "skills.urls is not supported") {
		t.Errorf("log %s", h.Log.String())
	}
}

func BenchmarkNoSkills(b *testing.B) {
	p := start(b, testhost.New(b))
	b.ReportAllocs()
	for b.Loop() {
		if list, err := p.Skills(b.Context()); err != nil || len(list) > 0 {
			b.Fatal(list, err)
		}
	}
}

// A skill without a name has that of its folder, as in Claude Code.
func TestSkillWithoutName(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	testhost.Write(t, filepath.Join(h.Place.Directory, ".claude", "skills", "deploy", "SKILL.md"), "---\ndescription: d\n---\nx")
	if got, err := start(t, h).Skills(t.Context()); err != nil || len(got) != 1 || got[0].Name != "deploy" {
		t.Errorf("Skills() = %+v, %v", got, err)
	}
}

// TestNextHost: a plugin that is started again forgets what it read for the host before.
func TestNextHost(t *testing.T) {
	t.Parallel()
	first := testhost.New(t)
	testhost.Write(t, filepath.Join(first.Place.Directory, ".tenon", "skills", "a", "SKILL.md"), skill("a", "d"))
	p := start(t, first)
	for _, want := range []int{1, 0} {
		if got, err := p.Skills(t.Context()); err != nil || len(got) != want {
			t.Errorf("Skills() = %+v, %v, want %d", got, err, want)
		}
		if err := p.Start(t.Context(), testhost.New(t)); err != nil {
			t.Fatal(err)
		}
	}
}

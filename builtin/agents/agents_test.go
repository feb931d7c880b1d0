package agents_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/agents"
	"github.com/tenonhq/tenon/sdk"
)

// host is what a plugin gets: a project below a temporary directory, and a log to look at.
type host struct {
	project  sdk.Project
	log      bytes.Buffer
	messages map[string][]sdk.MessageWithParts // by session
}

func (h *host) SessionMessages(_ context.Context, session string) ([]sdk.MessageWithParts, error) {
	return h.messages[session], nil
}

func (h *host) Logger() *slog.Logger   { return slog.New(slog.NewTextHandler(&h.log, nil)) }
func (h *host) Project() sdk.Project   { return h.project }
func (*host) Options() json.RawMessage { return nil }

func start(t *testing.T) (*agents.Plugin, *host) {
	t.Helper()
	dir := t.TempDir()
	h := &host{project: sdk.Project{Directory: filepath.Join(dir, "p", "sub"), Worktree: filepath.Join(dir, "p"), Home: dir, ConfigDir: filepath.Join(dir, "conf")}}
	p := agents.New()
	if err := p.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p, h
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T, list []sdk.Agent, name string) *sdk.Agent {
	t.Helper()
	i := slices.IndexFunc(list, func(a sdk.Agent) bool { return a.Name == name })
	if i < 0 {
		t.Fatalf("no agent %q", name)
	}
	return &list[i]
}

func names(list []sdk.Agent) []string {
	var out []string
	for _, a := range list {
		if !a.Disabled {
			out = append(out, a.Name)
		}
	}
	return out
}

func TestBuiltins(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	list := p.Agents()
	if diff := cmp.Diff([]string{"build", "plan", "general", "explore", "title", "compaction", "summary"}, names(list)); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if build := find(t, list, "build"); build.Prompt != "" || build.Mode != sdk.ModePrimary {
		t.Errorf("build: mode %s, prompt %q, want the default prompt of the model's family", build.Mode, build.Prompt)
	}
	// A model that a configuration names may refuse a temperature; then the session would have no title.
	if title := find(t, list, "title"); title.Temperature != nil || !title.Hidden {
		t.Errorf("title: %+v", title)
	}
}

// TestBuiltinRules checks the last matching rule of each agent.
func TestBuiltinRules(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	for name, c := range map[string]struct {
		agent, permission, pattern string
		want                       sdk.Action
	}{
		"plan edits":                   {"plan", "edit", "main.go", sdk.ActionDeny},
		"plan writes plans":            {"plan", "edit", ".tenon/plans/a.md", sdk.ActionAllow},
		"plan uses general":            {"plan", "task", "general", sdk.ActionDeny},
		"plan uses explore":            {"plan", "task", "explore", sdk.ActionAllow},
		"plan runs commands":           {"plan", "bash", "make", sdk.ActionAsk},
		"plan uses a plugin":           {"plan", "deploy", "*", sdk.ActionAsk},
		"plan's hooks ask the model":   {"plan", "sampling", "guard.hooks", sdk.ActionAllow},
		"plan's servers ask the model": {"plan", "sampling", "mcp.a.hooks", sdk.ActionAsk},
		"explore's servers do not":     {"explore", "sampling", "mcp.a.hooks", sdk.ActionDeny},
		"plan reads secrets":           {"plan", "read", "a/.env", sdk.ActionAsk},
		"general's list":               {"general", "todowrite", "*", sdk.ActionDeny},
		"explore edits":                {"explore", "edit", "main.go", sdk.ActionDeny},
		"explore reads":                {"explore", "read", "main.go", sdk.ActionAllow},
		"explore reads secrets":        {"explore", "read", "a/.env", sdk.ActionAsk},
		"explore reads example":        {"explore", "read", ".env.example", sdk.ActionAllow},
		"explore runs commands":        {"explore", "bash", "rm x", sdk.ActionAsk},
		"explore uses a plugin":        {"explore", "deploy", "*", sdk.ActionDeny},
		"explore asks the model":       {"explore", "sampling", "guard.hooks", sdk.ActionAsk},
		"title uses tools":             {"title", "read", "x", sdk.ActionDeny},
		"build is as configured":       {"build", "edit", "x", ""},
	} {
		var got sdk.Action
		for _, r := range find(t, p.Agents(), c.agent).Permission {
			// These patterns are simple enough for path.Match, except that * also matches slashes.
			matches := func(pattern, text string) bool {
				prefix, suffix, star := strings.Cut(pattern, "*")
				if strings.Contains(suffix, "*") {
					return strings.Contains(text, strings.Trim(pattern, "*"))
				}
				return pattern == text || star && strings.HasPrefix(text, prefix) && strings.HasSuffix(text, suffix)
			}
			if matches(r.Permission, c.permission) && matches(r.Pattern, c.pattern) {
				got = r.Action
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A project that disables plan and defines another agent of its name gets one with plan's rules.
func TestDisabledAgentKeepsItsRules(t *testing.T) {
	t.Parallel()
	p, h := start(t)
	want := find(t, p.Agents(), sdk.AgentPlan)
	write(t, filepath.Join(h.project.Worktree, ".opencode", "agent", "plan.md"), "---\ndisable: true\n---\n")
	if plan := find(t, p.Agents(), sdk.AgentPlan); !plan.Disabled {
		t.Errorf("plan: %+v, want that it is disabled", plan)
	}
	write(t, filepath.Join(h.project.Worktree, ".tenon", "agent", "plan.md"), "---\nmode: primary\n---\nWrite.")
	plan := find(t, p.Agents(), sdk.AgentPlan)
	if diff := cmp.Diff(want.Permission, plan.Permission); diff != "" || plan.Disabled || !plan.Strict || plan.Prompt != "Write." {
		t.Errorf("plan: %+v, rules (-before +after):\n%s", plan, diff)
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	p, h := start(t)
	root := h.project.Worktree
	write(t, filepath.Join(h.project.ConfigDir, "agent", "mine.md"), "---\ndescription: user's\nmode: subagent\n---\nUser prompt.")
	write(t, filepath.Join(root, ".opencode", "agents", "team", "review.md"), "---\nmodel: a/b/c\ntemperature: 0.1\nsteps: 7\nhidden: true\noptions:\n  effort: high\ntools:\n  write: false\npermission:\n  bash:\n    '*': ask\n    'git *': allow\n---\nReview.")
	write(t, filepath.Join(root, ".tenon", "agent", "build.md"), "---\ntemperature: 0.9\n---\n")
	write(t, filepath.Join(root, ".tenon", "agent", "plan.md"), "---\ndisable: true\n---\n")
	write(t, filepath.Join(root, ".tenon", "agent", "plain.md"), "No front matter.")
	write(t, filepath.Join(h.project.Directory, ".tenon", "agent", "mine.md"), "---\ndescription: nearest\n---\n")
	list := p.Agents()
	if diff := cmp.Diff([]string{"build", "general", "explore", "title", "compaction", "summary", "mine", "team/review", "plain"}, names(list)); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	temperature := 0.1
	want := &sdk.Agent{
		Name: "team/review", Mode: sdk.ModeAll, Prompt: "Review.", Hidden: true, Temperature: &temperature, Steps: 7,
		Model: &sdk.ModelRef{ProviderID: "a", ModelID: "b/c"}, Options: sdk.Object{"effort": "high"}, Origin: filepath.Join("~", "p", ".opencode", "agents", "team", "review.md"),
	}
	file := filepath.Join(root, ".opencode", "agents", "team", "review.md")      // rules name it in full
	digest := "379f6f447eb6e0949c8f8ead18dcfa9f9ee6e6faf764e4bbfc1516a5a9cb400c" // sha256sum of the file
	want.Permission = sdk.PermissionRules{
		{Permission: "edit", Pattern: "*", Action: sdk.ActionDeny, Origin: file, Digest: digest},
		{Permission: "bash", Pattern: "*", Action: sdk.ActionAsk, Origin: file, Digest: digest},
		{Permission: "bash", Pattern: "git *", Action: sdk.ActionAllow, Origin: file, Digest: digest},
	}
	if diff := cmp.Diff(want, find(t, list, "team/review")); diff != "" {
		t.Errorf("team/review (-want +got):\n%s", diff)
	}
	if mine := find(t, list, "mine"); mine.Description != "nearest" || mine.Prompt != "User prompt." || mine.Mode != sdk.ModeSubagent {
		t.Errorf("mine: %+v, want the nearest file over the user's", mine)
	}
	if build := find(t, list, "build"); *build.Temperature != 0.9 || build.Prompt != "" {
		t.Errorf("build: %+v, want the built-in one with the temperature of the file", build)
	}
	if h.log.Len() > 0 {
		t.Errorf("log: %s", h.log.String())
	}
}

// TestRequestFields: an agent of a repository sets how answers are generated, not other fields of requests.
func TestRequestFields(t *testing.T) {
	t.Parallel()
	p, h := start(t)
	const text = "---\noptions:\n  effort: high\n  tools: []\n---\nx"
	write(t, filepath.Join(h.project.ConfigDir, "agent", "mine.md"), text)
	write(t, filepath.Join(h.project.Worktree, ".tenon", "agent", "theirs.md"), text)
	write(t, filepath.Join(h.project.Worktree, ".opencode", "agent", "old.md"), "---\nreasoningEffort: low\nthinking: {type: disabled}\n---\nx")
	list := p.Agents()
	if got := find(t, list, "mine").Options; len(got) != 2 {
		t.Errorf("options of the user's agent: %v", got)
	}
	if diff := cmp.Diff(sdk.Object{"effort": "high"}, find(t, list, "theirs").Options); diff != "" {
		t.Errorf("options of the repository's agent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sdk.Object{"reasoningEffort": "low", "thinking": map[string]any{"type": "disabled"}}, find(t, list, "old").Options); diff != "" {
		t.Errorf("options beside the keys (-want +got):\n%s", diff)
	}
	if log := h.log.String(); strings.Count(log, "options are left out") != 1 || !strings.Contains(log, "options=tools") {
		t.Errorf("log: %s", log)
	}
}

// TestRepositoryDoesNotLiftPlan: only the user's own file can change what plan denies.
func TestRepositoryDoesNotLiftPlan(t *testing.T) {
	t.Parallel()
	for name, user := range map[string]bool{"repository": false, "user": true} {
		p, h := start(t)
		dir := filepath.Join(h.project.Directory, ".tenon")
		if user {
			dir = h.project.ConfigDir
		}
		path := filepath.Join(dir, "agents", "plan.md")
		write(t, path, "---\npermission:\n  edit: ask\n---\n")
		rules := find(t, p.Agents(), "plan").Permission
		last := rules[len(rules)-1]
		if got := last.Origin == path; got != user {
			t.Errorf("%s: the last rule is %+v", name, last)
		}
		if plan := find(t, p.Agents(), "plan"); !plan.Strict {
			t.Errorf("%s: plan is not strict", name)
		}
	}
}

// TestRuleWithoutEffect: a rule with the name of a tool that changes files is reported; under tools, the older form, it counts as edit.
func TestRuleWithoutEffect(t *testing.T) {
	t.Parallel()
	p, h := start(t)
	write(t, filepath.Join(h.project.ConfigDir, "agent", "careful.md"), "---\ntools: {Patch: false}\npermission: {bash: ask, write: deny}\n---\n")
	if rule := find(t, p.Agents(), "careful").Permission[0]; rule.Permission != "edit" {
		t.Errorf("tools has the rule %+v, want one of edit", rule)
	}
	if log := h.log.String(); strings.Count(log, "no effect") != 1 || !strings.Contains(log, "permission=write") {
		t.Errorf("log = %q, want one warning, about write", log)
	}
}

// TestToolsShareAPermission: the denial decides, as in opencode if it comes last; a wildcard comes before names.
func TestToolsShareAPermission(t *testing.T) {
	t.Parallel()
	p, h := start(t)
	write(t, filepath.Join(h.project.ConfigDir, "agent", "careful.md"), "---\ntools: {read: true, write: true, edit: false, 'edit*': true, '*': false}\n---\n")
	var got []string
	for _, rule := range find(t, p.Agents(), "careful").Permission {
		got = append(got, rule.Permission+" "+string(rule.Action))
	}
	if diff := cmp.Diff([]string{"* deny", "edit* allow", "edit allow", "edit deny", "read allow"}, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// TestNames: as in opencode, the name in the front matter replaces the path.
func TestNames(t *testing.T) {
	t.Parallel()
	p, h := start(t)
	write(t, filepath.Join(h.project.ConfigDir, "agent", "a", "file.md"), "---\nname: Reviewer\nauthor: me\ntags: [a]\n---\nx")
	write(t, filepath.Join(h.project.ConfigDir, "agent", "number.md"), "---\nname: 5\n---\nx")
	if got := names(p.Agents()); !slices.Equal(got[len(got)-2:], []string{"Reviewer", "number"}) {
		t.Errorf("agents = %q, want Reviewer and number last", got)
	}
}

// TestModes: opencode's older folders hold primary agents.
func TestModes(t *testing.T) {
	t.Parallel()
	p, h := start(t)
	for _, folder := range []string{"mode", "modes"} {
		write(t, filepath.Join(h.project.Worktree, ".opencode", folder, "my-"+folder+".md"), "---\ntools:\n  bash: false\n---\nText.")
		if a := find(t, p.Agents(), "my-"+folder); a.Mode != sdk.ModePrimary || a.Prompt != "Text." || a.Permission[0].Action != sdk.ActionDeny {
			t.Errorf("%s: %+v", folder, a)
		}
	}
}

func TestBadFilesAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"wrong type":  {"---\ntemperature: warm\n---\n", "temperature: want a number"},
		"bad YAML":    {"---\na: [\n---\n", "bad front matter"},
		"unknown key": {"---\ntemprature: 1\n---\n", `unknown key \\\"temprature\\\"`},
		"a variant's": {"---\ndisabled: true\n---\n", `unknown key \\\"disabled\\\"`},
		"bad mode":    {"---\nmode: main\n---\n", "want primary, subagent or all"},
		"bad model":   {"---\nmodel: gpt\n---\n", "want provider/model"},
		"bad action":  {"---\npermission:\n  bash: maybe\n---\n", "want allow, ask or deny"},
		"too large":   {strings.Repeat("x", 300<<10), "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, h := start(t)
			dir := filepath.Join(h.project.Directory, ".tenon", "agent")
			write(t, filepath.Join(dir, "bad.md"), c.text)
			p.Config.Agent = map[string]sdk.AgentConfig{"configured": {}}
			write(t, filepath.Join(dir, "configured.md"), c.text)
			write(t, filepath.Join(dir, "explore.md"), c.text)
			write(t, filepath.Join(dir, "other.md"), "---\nname: plan\ntemprature: 1\n---\n")
			write(t, filepath.Join(dir, "broken.md"), "---\nname: general\ntools: [\n---\nname: build\n")
			write(t, filepath.Join(dir, "good.md"), "Good.")
			list := p.Agents()
			if !find(t, list, "bad").Disabled || find(t, list, "good").Disabled {
				t.Errorf("agents %+v, want bad disabled and good enabled", list)
			}
			for _, name := range []string{"explore", "plan", "general"} {
				if rules := find(t, list, name).Permission; rules[len(rules)-1].Permission != "*" || rules[len(rules)-1].Action != sdk.ActionDeny {
					t.Errorf("%s: the rules in the file are unknown, and the agent may do more than nothing: %+v", name, rules)
				}
			}
			if rules := find(t, list, "build").Permission; len(rules) > 0 && rules[len(rules)-1].Action == sdk.ActionDeny {
				t.Errorf("build lost its tools, because the text of a file contains its name: %+v", rules)
			}
			for name, want := range map[string]bool{"explore": true, "configured": true, "bad": false} {
				if strings.Contains(h.log.String(), "agent has no tools until its file can be read\" agent="+name) != want {
					t.Errorf("%s: want a warning that it has no tools: %v: %s", name, want, h.log.String())
				}
			}
			want := strings.ReplaceAll(c.want, `\\\"`, `\"`)
			if log := strings.ReplaceAll(h.log.String(), `\\\"`, `\"`); !strings.Contains(log, "bad.md") || !strings.Contains(log, want) {
				t.Errorf("log %s, want the file and %q", log, want)
			}
			h.log.Reset()
			if p.Agents(); h.log.Len() > 0 {
				t.Errorf("reported again: %s", h.log.String())
			}
		})
	}
}

func TestChangesAreSeen(t *testing.T) {
	t.Parallel()
	p, h := start(t)
	p.Agents()
	path := filepath.Join(h.project.Directory, ".tenon", "agent", "new.md")
	write(t, path, "One.")
	if got := find(t, p.Agents(), "new").Prompt; got != "One." {
		t.Errorf("prompt %q", got)
	}
	write(t, path, "Two.")
	_ = os.Chtimes(path, time.Now(), time.Now().Add(time.Second))
	if got := find(t, p.Agents(), "new").Prompt; got != "Two." {
		t.Errorf("prompt %q after a change", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(names(p.Agents()), "new") {
		t.Error("the agent is still there after its file is gone")
	}
}

func TestReminder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agents []string // of the prompts, one after the other
		want   string   // what the last gets
	}{
		"plan":             {[]string{"plan"}, "Plan mode is on"},
		"plan again":       {[]string{"plan", "plan"}, "Plan mode is on"},
		"build":            {[]string{"build"}, ""},
		"back to build":    {[]string{"plan", "build"}, "Plan mode is off"},
		"build since long": {[]string{"plan", "build", "build"}, ""},
		"another session":  {[]string{"plan", "other"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			messages := map[string][]sdk.MessageWithParts{}
			var v *sdk.ChatMessageValue
			for i, agent := range c.agents {
				p, h := start(t) // another process, as of each tenon run
				h.messages = messages
				in := &sdk.ChatMessageInput{SessionID: "s", Agent: agent, MessageID: fmt.Sprint(i)}
				if agent == "other" {
					in.SessionID, in.Agent = "t", "build"
				}
				v = &sdk.ChatMessageValue{Message: &sdk.UserMessage{}, Parts: sdk.Parts{&sdk.TextPart{Text: "hi"}}}
				if _, err := p.Hooks()[0].Handler.Handle(t.Context(), &sdk.HookCall{Input: in, Value: v}); err != nil {
					t.Fatal(err)
				}
				messages[in.SessionID] = append(messages[in.SessionID], sdk.MessageWithParts{Info: &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: in.MessageID}, Agent: in.Agent}}, sdk.MessageWithParts{Info: &sdk.AssistantMessage{}})
			}
			if c.want == "" {
				if len(v.Parts) != 1 {
					t.Errorf("got %d parts, want the prompt alone", len(v.Parts))
				}
				return
			}
			if len(v.Parts) != 2 {
				t.Fatalf("got %d parts, want the prompt and a reminder", len(v.Parts))
			}
			if part := v.Parts[1].(*sdk.TextPart); !part.Synthetic || !strings.Contains(part.Text, c.want) {
				t.Errorf("reminder %+v, want %q", part, c.want)
			}
		})
	}
}

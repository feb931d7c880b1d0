package host_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

func rule(permission, pattern string, action sdk.Action) sdk.PermissionRule {
	return sdk.PermissionRule{Permission: permission, Pattern: pattern, Action: action, Origin: "here"}
}

// TestAgentsRules tests an agent's own rules against the user's.
func TestAgentsRules(t *testing.T) {
	t.Parallel()
	deny, ask, allow := sdk.ActionDeny, sdk.ActionAsk, sdk.ActionAllow
	const refused, asked, ran = "is denied", "no user can answer", "touched"
	all := sdk.PermissionRules{rule("*", "*", allow)}
	for name, c := range map[string]struct {
		own     sdk.PermissionRules
		strict  bool
		brought bool // by a plugin of third parties
		general sdk.PermissionRules
		named   sdk.PermissionRules
		theirs  bool // the rules are those of a repository that is not approved
		auto    bool
		kept    bool // approved for good
		gate    bool // allowed by a hook
		want    string
	}{
		"its deny, all is allowed":         {own: sdk.PermissionRules{rule("touch", "*.md", deny)}, general: all, auto: true, want: refused},
		"its ask, all is allowed":          {own: sdk.PermissionRules{rule("touch", "*", ask)}, general: all, want: asked},
		"its ask, --auto":                  {own: sdk.PermissionRules{rule("touch", "*", ask)}, general: all, auto: true, want: ran},
		"its ask, approved":                {own: sdk.PermissionRules{rule("touch", "*", ask)}, general: all, kept: true, want: ran},
		"its allow":                        {own: sdk.PermissionRules{rule("touch", "*", allow)}, want: ran},
		"its allow, the user denies":       {own: sdk.PermissionRules{rule("touch", "*", allow)}, general: sdk.PermissionRules{rule("touch", "*.md", deny)}, want: refused},
		"its allow, the user asks":         {own: sdk.PermissionRules{rule("touch", "*", allow)}, general: sdk.PermissionRules{rule("touch", "*", ask)}, want: asked},
		"its deny, lifted by name":         {own: sdk.PermissionRules{rule("touch", "*.md", deny)}, general: all, named: all, want: ran},
		"it says nothing of it":            {own: sdk.PermissionRules{rule("other", "*", deny)}, general: all, want: ran},
		"strict, its ask, all is allowed":  {strict: true, own: sdk.PermissionRules{rule("touch", "*", ask)}, general: all, want: asked},
		"strict, its ask, --auto":          {strict: true, own: sdk.PermissionRules{rule("touch", "*", ask)}, auto: true, want: asked},
		"strict, its ask, approved":        {strict: true, own: sdk.PermissionRules{rule("touch", "*", ask)}, kept: true, want: asked},
		"strict, its ask, a hook allows":   {strict: true, own: sdk.PermissionRules{rule("touch", "*", ask)}, gate: true, want: asked},
		"strict, its ask, lifted by name":  {strict: true, own: sdk.PermissionRules{rule("touch", "*", ask)}, named: all, want: ran},
		"strict, its deny, --auto":         {strict: true, own: sdk.PermissionRules{rule("touch", "*.md", deny)}, general: all, auto: true, kept: true, gate: true, want: refused},
		"strict, it says nothing of it":    {strict: true, own: sdk.PermissionRules{rule("other", "*", deny)}, general: all, want: ran},
		"brought, its allow":               {brought: true, own: all, want: asked},
		"brought, its allow, user's too":   {brought: true, own: all, general: all, want: ran},
		"brought, its deny":                {brought: true, own: sdk.PermissionRules{rule("touch", "*.md", deny)}, general: all, want: refused},
		"strict, lifted by what waits":     {strict: true, own: sdk.PermissionRules{rule("touch", "*.md", deny)}, named: all, theirs: true, want: refused},
		"strict, the repository asks":      {strict: true, own: sdk.PermissionRules{rule("touch", "*.md", deny)}, named: sdk.PermissionRules{rule("touch", "*", ask)}, theirs: true, want: refused},
		"strict, the repository denies":    {strict: true, own: sdk.PermissionRules{rule("touch", "*.md", ask)}, named: sdk.PermissionRules{rule("touch", "a*", deny)}, theirs: true, want: refused},
		"strict, its allow, the user asks": {strict: true, own: all, general: sdk.PermissionRules{rule("touch", "*", ask)}, want: asked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := touching("a.md")
			b.model.t = t
			agent := sdk.Agent{Name: "own", Mode: sdk.ModeAll, Permission: c.own, Strict: c.strict}
			other := &plugin{name: "brings", carrier: sdk.CarrierProcess}
			if c.brought {
				other.agents = []sdk.Agent{agent}
			} else {
				b.agents = append(b.agents, agent)
			}
			plugins := []sdk.Plugin{b, other}
			if c.gate {
				plugins = append(plugins, &plugin{name: "gate", hooks: []sdk.Hook{sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
					return sdk.Decision{Verdict: sdk.VerdictAllow}, nil
				})}})
			}
			k := start(t, func(o *host.Options) {
				o.Config.Permission, o.AutoApprove = c.general, c.auto
				o.Policy.Trust = func(string, string) permission.Trust { return permission.Trust{Repository: c.theirs} }
				o.Config.Agent = map[string]sdk.AgentConfig{"own": {Permission: c.named}}
			}, plugins...)
			if c.kept {
				if err := k.store.Approve(t.Context(), []store.Approval{{Project: permission.ApprovalProject(k.opts.Project), Permission: "touch", Pattern: "*"}}); err != nil {
					t.Fatal(err)
				}
			}
			id := k.session()
			if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go", Agent: "own"}); err != nil {
				t.Fatal(err)
			}
			if got := k.results(id)[0]; !strings.Contains(got, c.want) {
				t.Errorf("result = %q, want %q in it", got, c.want)
			}
		})
	}
}

// TestRepositoryLiftsNoDenial: a file of the repository cannot turn the user's denial into a question, which --auto would answer.
func TestRepositoryLiftsNoDenial(t *testing.T) {
	t.Parallel()
	const refused, ran = "is denied", "touched"
	users := sdk.PermissionRules{rule("touch", "*.md", sdk.ActionDeny)}
	with := func(more ...sdk.PermissionRule) sdk.PermissionRules { return slices.Concat(users, more) }
	theirs := func(pattern string, action sdk.Action) sdk.PermissionRule {
		return sdk.PermissionRule{Permission: "touch", Pattern: pattern, Action: action, Origin: "theirs"}
	}
	for name, c := range map[string]struct {
		general, named sdk.PermissionRules
		approved       bool
		want           string
	}{
		"it asks":                         {general: with(theirs("*", sdk.ActionAsk)), want: refused},
		"it allows":                       {general: with(theirs("*", sdk.ActionAllow)), want: refused},
		"it asks for the agent":           {general: users, named: sdk.PermissionRules{theirs("*", sdk.ActionAsk)}, want: refused},
		"it asks, approved":               {general: with(theirs("*", sdk.ActionAsk)), approved: true, want: ran},
		"it denies":                       {general: sdk.PermissionRules{theirs("a*", sdk.ActionDeny)}, want: refused},
		"the user lifts what it denies":   {general: sdk.PermissionRules{theirs("a*", sdk.ActionDeny), rule("touch", "*.md", sdk.ActionAsk)}, want: ran},
		"the user lifts his own, it asks": {general: with(rule("touch", "*.md", sdk.ActionAsk), theirs("*", sdk.ActionAsk)), want: ran},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := start(t, func(o *host.Options) {
				o.AutoApprove, o.Config.Permission = true, c.general
				o.Config.Agent = map[string]sdk.AgentConfig{sdk.AgentBuild: {Permission: c.named}}
				o.Policy.Trust = func(origin, _ string) permission.Trust {
					return permission.Trust{Repository: origin == "theirs", Approved: c.approved}
				}
			}, touching("a.md"))
			id, _ := k.prompt("go")
			if got := k.results(id)[0]; !strings.Contains(got, c.want) {
				t.Errorf("result = %q, want %q in it", got, c.want)
			}
		})
	}
}

// TestSubagentsOfAStrictAgent nests subagents that allow themselves everything: none of them does what the strict agent at
// the root may not do or must ask for, however much is allowed elsewhere.
func TestSubagentsOfAStrictAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action sdk.Action
		want   string
	}{
		"deny": {sdk.ActionDeny, "is denied"}, "ask": {sdk.ActionAsk, "no user can answer"}, "allow": {sdk.ActionAllow, "touched"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := sdk.PermissionRules{rule("*", "*", sdk.ActionAllow)}
			m := newModel(t, calls(ask("outer", "x")), say("done")).
				on(sdk.PurposeSubtask, calls(ask("inner", "x")), calls(path("src/a")), say("inner is done"), say("outer is done"))
			b := delegating(m, touch(false))
			b.agents = append(b.agents,
				sdk.Agent{Name: "careful", Mode: sdk.ModePrimary, Strict: true, Permission: sdk.PermissionRules{rule("touch", "src/*", c.action)}},
				sdk.Agent{Name: "outer", Mode: sdk.ModeAll, Permission: append(all, rule("task", "*", sdk.ActionAllow))},
				sdk.Agent{Name: "inner", Mode: sdk.ModeSubagent, Permission: all})
			depth := 2
			k := start(t, func(o *host.Options) {
				o.Config.Permission, o.Config.SubagentDepth, o.AutoApprove = all, &depth, true
				o.Config.Agent = map[string]sdk.AgentConfig{"inner": {Permission: all}, "outer": {Permission: all}}
			}, b)
			id := k.session()
			if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go", Agent: "careful"}); err != nil {
				t.Fatal(err)
			}
			outer := k.children(id)
			if len(outer) != 1 {
				t.Fatalf("%d subagents: %q", len(outer), k.results(id))
			}
			inner := k.children(outer[0].ID)
			if len(inner) != 1 {
				t.Fatalf("%d nested subagents: %q", len(inner), k.results(outer[0].ID))
			}
			if got := k.results(inner[0].ID)[0]; !strings.Contains(got, c.want) {
				t.Errorf("result = %q, want %q in it", got, c.want)
			}
		})
	}
}

// skillful contributes skills.
type skillful struct {
	*plugin
	skills []sdk.Skill
}

func (s *skillful) Skills(context.Context) ([]sdk.Skill, error) { return s.skills, nil }

// TestDeniedSkills: a call finds only the skills that the rules of its agent do not deny, while the list of a compiled-in
// plugin contains all.
func TestDeniedSkills(t *testing.T) {
	t.Parallel()
	b := base(newModel(t, call("look", `{}`), say("done")))
	one := &skillful{b, []sdk.Skill{{Name: "a", Location: "/1/a"}, {Name: "b", Location: "/1/b"}}}
	two := &skillful{&plugin{name: "two"}, []sdk.Skill{{Name: "b", Location: "/2/b"}}}
	b.tools = []sdk.Tool{&tool{id: "look", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		list, err := call.Host.(sdk.SkillFinder).Skills(ctx)
		var out []string
		for _, s := range list {
			out = append(out, s.Location)
		}
		rules := b.host.(sdk.RuleReader)
		for _, name := range []string{"a", "b"} {
			if rules.Denies(call.SessionID, "skill", name) {
				out = append(out, "denied "+name)
			}
		}
		if rules.Denies("ses_other", "skill", "a") {
			out = append(out, "denied without a turn")
		}
		return &sdk.ToolResult{Output: strings.Join(out, " ")}, err
	}}}
	k := start(t, func(o *host.Options) {
		o.Config.Permission = append(o.Config.Permission, rule("skill", "a", sdk.ActionDeny))
	}, one, two)
	id, _ := k.prompt("go")
	want(t, "what the call found", []string{"/2/b denied a"}, k.results(id))
	infos := k.SkillInfos(t.Context())
	if len(infos) != 2 || infos[1].Plugin != "two" {
		t.Errorf("SkillInfos = %+v", infos)
	}
}

// TestThirdPartyReplacesNoAgent: a read-only agent keeps its rules and its prompt if a third-party plugin has an agent of the same name.
func TestThirdPartyReplacesNoAgent(t *testing.T) {
	t.Parallel()
	b := touching("a.md")
	b.model.t = t
	b.agents = append(b.agents, sdk.Agent{
		Name: sdk.AgentPlan, Mode: sdk.ModePrimary, Prompt: "You plan.", Strict: true, Permission: sdk.PermissionRules{rule("touch", "*.md", sdk.ActionDeny)},
	})
	b.agents = append(b.agents, sdk.Agent{Name: "former", Mode: sdk.ModePrimary, Disabled: true})
	everything := sdk.PermissionRules{rule("*", "*", sdk.ActionAllow)}
	stranger := &plugin{name: "stranger", carrier: sdk.CarrierProcess, agents: []sdk.Agent{
		{Name: sdk.AgentPlan, Mode: sdk.ModePrimary, Prompt: "You write.", Permission: everything}, {Name: "writer", Mode: sdk.ModePrimary, Prompt: "You write."},
		{Name: "former", Mode: sdk.ModePrimary, Prompt: "You write.", Permission: everything}, {Name: "Plan", Mode: sdk.ModePrimary, Prompt: "You write."},
	}}
	logs := &records{}
	k := start(t, func(o *host.Options) {
		o.Config.Permission, o.AutoApprove, o.Logger = everything, true, logs.logger()
	}, b, stranger)
	id := k.session()
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go", Agent: sdk.AgentPlan}); err != nil {
		t.Fatal(err)
	}
	want(t, "prompt", "You plan.", b.model.last(sdk.PurposeTurn).System[0])
	if got := k.results(id)[0]; !strings.Contains(got, "is denied") {
		t.Errorf("result = %q, want that the agent's rule denies it", got)
	}
	if !logs.has("plugin stranger: ", `agent "plan" skipped: plugin `+b.name+" has one of this name") {
		t.Errorf("no notice: %q", logs.all())
	}
	if len(k.Agents()) != len(b.agents) || !slices.ContainsFunc(k.Agents(), func(a sdk.Agent) bool { return a.Name == "writer" }) {
		t.Errorf("agents = %+v, want the plugin's other agent, and none that is disabled", k.Agents())
	}
}

// TestThirdPartyReplacesNoCommand: a third-party plugin's command replaces skills, but no command of tenon or of files, even one that is disabled because
// of a mistake.
func TestThirdPartyReplacesNoCommand(t *testing.T) {
	t.Parallel()
	b := base(newModel(t))
	b.commands = []sdk.Command{{Name: "deploy", Template: "ours"}, {Name: "broken", Disabled: true}, {Name: "skill", Template: "ours", Source: "skill"}}
	stranger := &plugin{name: "stranger", carrier: sdk.CarrierProcess}
	for _, name := range []string{"deploy", "Deploy", "broken", "skill", "new"} {
		stranger.commands = append(stranger.commands, sdk.Command{Name: name, Template: "theirs"})
	}
	logs := &records{}
	k := start(t, func(o *host.Options) { o.Logger = logs.logger() }, b, stranger)
	var got []string
	for _, c := range k.CommandInfos(t.Context()) {
		got = append(got, c.Name+" "+c.Template)
	}
	want(t, "commands", []string{"deploy ours", "skill theirs", "new theirs"}, got)
	for _, name := range []string{"deploy", "Deploy", "broken"} {
		if !logs.has("plugin stranger: ", fmt.Sprintf("command %q skipped: plugin %s has one of this name", name, b.name)) {
			t.Errorf("no notice about %s: %q", name, logs.all())
		}
	}
}

// agentReads counts how often its agents are read.
type agentReads struct {
	*plugin
	reads int
}

func (c *agentReads) Agents() []sdk.Agent {
	c.reads++
	return c.plugin.Agents()
}

// TestCheckReadsAgentsOnce: a check of many commands does not read the files of all agents for each of them.
func TestCheckReadsAgentsOnce(t *testing.T) {
	t.Parallel()
	c := &agentReads{plugin: base(newModel(t))}
	for i := range 50 {
		c.commands = append(c.commands, sdk.Command{Name: fmt.Sprint("c", i), Agent: []string{"", sdk.AgentBuild}[i%2], Template: "hi"})
	}
	c.commands = append(c.commands, sdk.Command{Name: "lost", Agent: "nowhere", Template: "hi"})
	k := start(t, nil, c)
	c.reads = 0
	problems := k.Check(t.Context())
	if len(problems) != 1 || problems[0].Key != "command.lost.agent" || c.reads > 5 {
		t.Errorf("problems %+v after reading the agents %d times, want that of one command after a few", problems, c.reads)
	}
}

package manage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenonhq/tenon/builtin/tools/files"
	"github.com/tenonhq/tenon/builtin/tools/shell"
	"github.com/tenonhq/tenon/builtin/tools/web"
	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/sandbox"
	"github.com/tenonhq/tenon/internal/toolname"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

func (g *group) listApprovals(ctx context.Context, w *cli.Workspace, s store.Store, _ []string) error {
	list, err := s.Approvals(ctx, w.ApprovalProject())
	if err != nil {
		return err
	}
	const empty = `no permanent permissions here; answering "always" to a permission request adds one`
	return cli.List(g.App, list, empty, []string{"id", "permission", "pattern", "since", "session", "from"}, func(p *store.Approval) []string {
		when := time.UnixMilli(p.Created).Format(time.DateOnly)
		return []string{strconv.FormatInt(p.ID, 10), permission.Shown(p.Permission), p.Pattern, when, p.Session, p.Origin}
	})
}

func (g *group) forgetApprovals(ctx context.Context, w *cli.Workspace, s store.Store, args []string) error {
	var id int64 // 0: all
	if g.all == (len(args) == 1) {
		return cli.UsageError("tenon permission list shows the IDs", "pass an ID or --all")
	}
	if !g.all {
		var err error
		if id, err = strconv.ParseInt(args[0], 10, 64); err != nil || id < 1 {
			return cli.UsageError("tenon permission list shows the IDs", "invalid ID %q", args[0])
		}
	}
	n, err := s.Forget(ctx, w.ApprovalProject(), id)
	if errors.Is(err, store.ErrNotFound) {
		return cli.UsageError("tenon permission list shows them", "%w", err)
	}
	if err != nil {
		return err
	}
	return g.Print(fmt.Sprintf("forgotten: %d\n", n))
}

// explainPermission prints the matching rules for each permission request.
func (g *group) explainPermission(ctx context.Context, m *cli.Machine, args []string) error {
	key, text, _ := strings.Cut(strings.Join(args, " "), " ")
	w := m.Workspace
	rules, err := m.Rules(g.agent)
	if err != nil {
		return cli.UsageError("tenon agent list shows the agents", "%w", err)
	}
	approvals, err := m.Store.Approvals(ctx, permission.ApprovalProject(w.Project))
	if err != nil {
		return err
	}
	requests, err := judged(ctx, w, key, text)
	if err != nil {
		return err
	}
	approved := permission.Compile("", permission.ApprovedRules(approvals, w.Project))
	var b strings.Builder
	together, answered := decided(rules, requests), true
	for i := range requests {
		r := &requests[i]
		explainRequest(&b, rules, approved, r)
		d := rules.DecideRequest(permission.RequestOf(r))
		answered = answered && (d.Action == sdk.ActionAllow || !d.AlwaysAsks(r) && approved.Approve(r))
	}
	fmt.Fprintf(&b, "together: %s", together)
	if together == sdk.ActionAsk && answered {
		b.WriteString("; permanent approvals answer, so tenon does not ask")
	}
	return g.Print(b.String() + "\n")
}

// explainRequest prints the matching rules for each pattern of a request.
func explainRequest(b *strings.Builder, rules, approved *permission.Rules, r *sdk.PermissionRequest) {
	for _, pattern := range r.Patterns {
		explainPattern(b, rules, approved, r.Permission, pattern)
	}
	if r.Verbatim != "" {
		why := ""
		if rules.DecideAll(r.Permission, r.Patterns).Action == sdk.ActionAllow && rules.NamesOthers(r.Permission) {
			why = "; tenon asks, because a rule denies or asks for a command by name, or denies a file by name, and the text could hide it"
		}
		fmt.Fprintf(b, "  only the rule * allows it, because it contains %s%s\n", terminal.OneLine(r.Verbatim), why)
	}
	for _, i := range r.Implied {
		if i.Permission == r.Permission && slices.Contains(r.Patterns, i.Pattern) {
			continue // shown above
		}
		if d := rules.Decide(i.Permission, i.Pattern); d.Matched && (d.Action == sdk.ActionDeny || d.Action == sdk.ActionAsk && (d.Rule.Pattern != "*" && !i.Maybe || d.Guarded != "")) {
			b.WriteString(map[bool]string{false: "included: ", true: "possibly included, so tenon asks: "}[i.Maybe])
			explainPattern(b, rules, approved, i.Permission, i.Pattern)
		}
	}
}

func explainPattern(b *strings.Builder, rules, approved *permission.Rules, key, pattern string) {
	d := rules.Decide(key, pattern)
	fmt.Fprintf(b, "%s %q: %s\n", key, terminal.OneLine(pattern), d.Action)
	steps := rules.Explain(key, pattern)
	if !d.Matched {
		b.WriteString("  no rule matches, so tenon asks\n")
	}
	t := &view.Table{Indent: "  "}
	shown := map[sdk.PermissionRule]bool{} // several lists may contain a rule: the bounds of an agent, the rules that a repository cannot override
	for _, wins := range []bool{true, false} {
		for _, step := range slices.Backward(steps) {
			if step.Wins == wins && !shown[step.Rule] {
				shown[step.Rule] = true
				t.Add(map[bool]string{true: "applies", false: "overridden"}[wins], view.RuleText(step.Rule), step.Rule.Origin)
			}
		}
	}
	if by := approved.Decide(key, pattern); d.Action == sdk.ActionAsk && !d.Final && by.Action == sdk.ActionAllow {
		t.Add("permanently allowed", view.RuleText(by.Rule), by.Rule.Origin)
	}
	b.WriteString(t.Text(0))
	if d.Guarded != "" {
		fmt.Fprintf(b, "  always asks: %s can run programs or control agents; only a rule that names it allows it\n", d.Guarded)
	}
}

// lintPermissions prints the rules of the configuration that never apply.
func (g *group) lintPermissions(_ context.Context, w *cli.Workspace, _ []string) error {
	c := w.Loaded.Config
	shadows := permission.Shadowed(w.Project.Home, w.Project.Worktree, c.Permission)
	for _, agent := range c.Agent {
		shadows = append(shadows, permission.Shadowed(w.Project.Home, w.Project.Worktree, agent.Permission)...)
	}
	var lines []string
	for _, warning := range w.Loaded.Warnings {
		if strings.HasPrefix(warning.Key, "permission") || strings.Contains(warning.Key, ".permission") {
			lines = append(lines, terminal.OneLine(warning.String()))
		}
	}
	for _, s := range shadows {
		lines = append(lines, fmt.Sprintf("%s: %s never applies: %s (%s) comes later and matches everything it does", s.Rule.Origin, view.RuleText(s.Rule), view.RuleText(s.By), s.By.Origin))
	}
	if len(lines) == 0 {
		return g.Print("every rule can apply\n")
	}
	if err := g.Print(strings.Join(lines, "\n") + "\n"); err != nil {
		return err
	}
	return cli.Fail(cli.ExitConfig, fmt.Errorf("%s found", view.Plural(len(lines), "problem")), "correct names as shown; remove rules that never apply, or move them after the rules that cover them: the last matching rule decides")
}

// judged returns the permission requests for a subject; for a shell command, a path or a URL, those of a real call.
func judged(ctx context.Context, w *cli.Workspace, key, text string) (requests []sdk.PermissionRequest, err error) {
	key = toolname.Permission(key)
	call := &sdk.ToolCall{Tool: key, Directory: w.Project.Directory, Worktree: w.Project.Worktree}
	switch {
	case text != "" && (permission.NamesFiles(key) || key == sdk.PermissionExternalDirectory):
		requests, err = files.Requests(ctx, call, key, text)
		if last := len(requests) - 1; key == sdk.PermissionExternalDirectory && last > 0 {
			requests = requests[:last]
		}
		return requests, err
	case text == "" || key != "bash" && key != "webfetch":
		return []sdk.PermissionRequest{{Permission: key, Patterns: []string{cmp.Or(text, "*")}}}, nil
	}
	p, argument := shell.New(), "command"
	if key == "webfetch" {
		p, argument = web.New(), "url"
	}
	if err := sdktest.New(p, sdktest.Options{Project: w.Project, Config: w.Loaded.Config}).Start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close(context.WithoutCancel(ctx))) }()
	call.Args, _ = json.Marshal(map[string]string{argument: text}) // a text always encodes
	return p.Tools()[0].(sdk.ToolPreparer).Prepare(ctx, call)
}

// ruleForm matches PERMISSION PATTERN ACTION; the pattern may be quoted.
var ruleForm = lazyregexp.New(`^(\S+) +(?:"(.*)"|'(.*)'|(.*\S)) +(allow|ask|deny)$`)

func parseRule(text string) (sdk.PermissionRule, error) {
	m := ruleForm().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return sdk.PermissionRule{}, cli.UsageError(`write it as  bash "git push *" deny`, "invalid rule %q: want a permission, a pattern, and allow, ask or deny", text)
	}
	return sdk.PermissionRule{Permission: m[1], Pattern: m[2] + m[3] + m[4], Action: sdk.Action(m[5]), Origin: "the tested rule"}, nil
}

// testRule prints the recorded calls of this project that an additional rule at the end would decide differently.
func (g *group) testRule(ctx context.Context, m *cli.Machine, args []string) error {
	rule, err := parseRule(strings.Join(args, " "))
	if err != nil {
		return err
	}
	w := m.Workspace
	q := store.Query{Limit: 10_000, Children: true, Archived: true}
	q.ProjectID, q.Directory = w.Scope()
	sessions, err := m.Store.Sessions(ctx, q)
	if err = g.WithoutDamage(err); err != nil {
		return err
	}
	policy := permission.Policy{Project: w.Project, Managed: w.Loaded.Managed}
	t, calls, changed := &view.Table{}, 0, 0
	for _, s := range sessions {
		before, err := m.Rules(s.Agent)
		if err != nil { // the agent no longer exists
			before, err = m.Rules("")
		}
		if err != nil {
			return err
		}
		after := policy.Rules(permission.Sources{General: before.Rules(), Session: sdk.PermissionRules{rule}}, false)
		messages, err := m.Store.Messages(ctx, s.ID, store.Page{})
		if err = g.WithoutDamage(err); err != nil {
			return err
		}
		for part := range store.PartsOf[*sdk.ToolPart](messages...) {
			requests, ok := recorded(ctx, w, part)
			if !ok || part.State.Status == sdk.ToolPending {
				continue
			}
			calls++
			was, would := decided(before, requests), decided(after, requests)
			if was == would {
				continue
			}
			changed++
			when := time.UnixMilli(part.State.Time.Start).Format(time.DateTime)
			t.Add(s.ID, when, part.Tool, fmt.Sprintf("%s → %s", was, would), view.Clip(terminal.OneLine(patternsOf(requests)), view.SubjectLength))
		}
	}
	if err := g.PrintTable(t); err != nil {
		return err
	}
	return g.Print(fmt.Sprintf("%d of %d recorded calls would change\n", changed, calls))
}

// decided returns the decision about all requests of a call. A call without requests is allowed.
func decided(rules *permission.Rules, requests []sdk.PermissionRequest) sdk.Action {
	all := sdk.ActionAllow
	for i := range requests {
		all = permission.Combine(all, rules.DecideRequest(permission.RequestOf(&requests[i])).Action)
	}
	return all
}

func patternsOf(requests []sdk.PermissionRequest) string {
	lists := cli.Mapped(requests, func(r *sdk.PermissionRequest) []string { return r.Patterns })
	return strings.Join(slices.Concat(lists...), ", ")
}

// recorded returns the permission requests of a recorded call, reconstructed from its arguments.
func recorded(ctx context.Context, w *cli.Workspace, part *sdk.ToolPart) ([]sdk.PermissionRequest, bool) {
	var args struct {
		Command, FilePath, Pattern, URL, Path string
	}
	if json.Unmarshal(part.State.Input, &args) != nil {
		return nil, false
	}
	subject := cmp.Or(args.Command, args.FilePath, args.Pattern, args.URL, args.Path, "*")
	r, err := judged(ctx, w, part.Tool, subject)
	return r, err == nil
}

// showSandbox prints the paths of the sandbox and their origins.
func (g *group) showSandbox(_ context.Context, w *cli.Workspace, _ []string) error {
	list, err := w.Sandbox()
	if err != nil {
		return err
	}
	t := &view.Table{}
	t.Add(string(sandbox.Write), w.Project.Worktree, "the project")
	t.Add(string(sandbox.Write), "$TMPDIR", "a directory for each session, removed afterwards")
	for _, p := range list {
		if _, err := os.Lstat(p.Path); err != nil && p.Access == sandbox.Hide && p.Origin != sandbox.Own {
			continue // will be hidden if it is created
		}
		t.Add(string(p.Access), p.Path, p.Origin)
	}
	for _, name := range w.Loaded.Config.Sandbox.Unconfined {
		t.Add(sdk.PermissionUnconfined, name, w.Loaded.Origin("sandbox.unconfined"))
	}
	if err := g.Print(w.Confinement(list) + "\n"); err != nil {
		return err
	}
	return g.PrintTable(t)
}

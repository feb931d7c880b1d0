package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

func (a *app) permissionCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "permission", Short: "Show, check and try permission rules, and take back what was allowed for good"}
	group(cmd)
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List what was allowed for good in this project", Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listApprovals(cmd.Context()) },
	}
	var all bool
	forget := &cobra.Command{
		Use: "forget [ID]", Short: "Take back what was allowed for good", Args: arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error { return a.forgetApprovals(cmd.Context(), args, all) },
	}
	forget.Flags().BoolVar(&all, "all", false, "take back all of this project")
	var agent string
	explain := &cobra.Command{
		Use: "explain PERMISSION TEXT", Short: "Say which rule decides, and which ones it beats",
		Example: "  tenon permission explain 'bash git push --force'\n  tenon permission explain edit src/x.go --agent plan",
		Args:    arguments(1, -1, "a permission and what it is needed for"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.explainPermission(cmd.Context(), args, agent) },
	}
	explain.Flags().StringVar(&agent, "agent", "", "under the rules of this agent (default build)")
	lint := &cobra.Command{
		Use: "lint", Short: "Find rules that can never decide", Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.lintPermissions(cmd.Context()) },
	}
	test := &cobra.Command{
		Use: "test RULE", Short: "Show which recorded calls a rule would have decided otherwise",
		Example: `  tenon permission test 'bash "git push *" deny'`, Args: arguments(1, -1, "a rule: PERMISSION PATTERN ACTION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.testRule(cmd.Context(), strings.Join(args, " "))
		},
	}
	var yes bool
	approve := &cobra.Command{
		Use: "approve", Short: "Show and approve rules, shell commands and addresses in files of this project", Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.approveRules(cmd.Context(), yes) },
	}
	approve.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.AddCommand(list, forget, explain, lint, test, approve, a.sandboxCommand())
	return cmd
}

// approvalProject is the project as the host knows it.
func (w *workspace) approvalProject() string {
	w.projectID()
	return host.ApprovalProject(w.project)
}

func (a *app) listApprovals(ctx context.Context) error {
	return a.withStore(ctx, func(w *workspace, s store.Store) error {
		list, err := s.Approvals(ctx, w.approvalProject())
		if err != nil {
			return err
		}
		if len(list) == 0 {
			a.screen.line("nothing was allowed for good here; an answer \"always\" to a permission request does")
			return nil
		}
		return a.writeTable(approvalTable(list))
	})
}

// approvalTable lists what was allowed for good.
func approvalTable(list []store.Approval) *table {
	t := &table{}
	for _, p := range list {
		when := time.UnixMilli(p.Created).Format(time.DateOnly)
		t.add(strconv.FormatInt(p.ID, 10), oneLine(p.Permission), oneLine(p.Pattern), when, p.Session, oneLine(p.Origin))
	}
	return t
}

func (a *app) forgetApprovals(ctx context.Context, args []string, all bool) error {
	var id int64
	switch {
	case all == (len(args) == 1):
		return usageError("tenon permission list shows the identifiers", "name what to forget: an identifier or --all")
	case !all:
		n, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || n < 1 {
			return usageError("tenon permission list shows the identifiers", "%q is no identifier of an approval", args[0])
		}
		id = n
	}
	return a.withStore(ctx, func(w *workspace, s store.Store) error {
		n, err := s.Forget(ctx, w.approvalProject(), id)
		if errors.Is(err, store.ErrNotFound) {
			return usageError("tenon permission list shows what there is", "%w", err)
		}
		if err != nil {
			return err
		}
		return a.write(fmt.Sprintf("forgotten: %d\n", n))
	})
}

// explainPermission prints the rules that matter for each thing that is judged.
func (a *app) explainPermission(ctx context.Context, args []string, agent string) (err error) {
	key, text, _ := strings.Cut(strings.Join(args, " "), " ")
	w, err := a.configured(ctx)
	if err != nil {
		return err
	}
	m, err := w.open(ctx, hostOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close(context.WithoutCancel(ctx))) }()
	rules, err := m.Rules(agent)
	if err != nil {
		return usageError("tenon agent list shows the agents", "%w", err)
	}
	approvals, err := m.store.Approvals(ctx, host.ApprovalProject(w.project))
	if err != nil {
		return err
	}
	requests, err := w.judged(ctx, key, text)
	if err != nil {
		return err
	}
	approved := permission.Compile("", host.ApprovedRules(approvals))
	var b strings.Builder
	for i := range requests {
		explainRequest(&b, rules, approved, &requests[i])
	}
	fmt.Fprintf(&b, "together: %s\n", decided(rules, requests))
	return a.write(b.String())
}

// explainRequest prints the rules that matter for each thing that a request asks for.
func explainRequest(b *strings.Builder, rules, approved *permission.Rules, r *sdk.PermissionRequest) {
	for _, pattern := range r.Patterns {
		explainPattern(b, rules, approved, r.Permission, pattern)
	}
	if r.Verbatim != "" {
		why := ""
		if rules.DecideAll(r.Permission, r.Patterns).Action == sdk.ActionAllow && !rules.AllowsVerbatim(r.Permission) {
			why = "; it asks, as only the rule * allows such a text"
			if rules.NamesOthers(r.Permission) {
				why += ", and not while a rule denies or asks for a command by name, which it could hide"
			}
		}
		fmt.Fprintf(b, "  shown whole, because it holds %s%s\n", oneLine(r.Verbatim), why)
	}
	for _, i := range r.Implied {
		if d := rules.Decide(i.Permission, i.Pattern); d.Matched && (d.Action == sdk.ActionDeny || d.Action == sdk.ActionAsk && (d.Rule.Pattern != "*" && !i.Maybe || d.Guarded != "")) {
			b.WriteString(map[bool]string{false: "included: ", true: "possibly included, so it asks: "}[i.Maybe])
			explainPattern(b, rules, approved, i.Permission, i.Pattern)
		}
	}
}

func explainPattern(b *strings.Builder, rules, approved *permission.Rules, key, pattern string) {
	d := rules.Decide(key, pattern)
	fmt.Fprintf(b, "%s %q: %s\n", key, oneLine(pattern), d.Action)
	steps := rules.Explain(key, pattern)
	if !d.Matched {
		b.WriteString("  no rule matches, so it is asked for\n")
	}
	t := &table{}
	// One rule may stand in several lists: an agent's bounds, what a repository may not lift.
	type place struct{ permission, pattern, origin string }
	shown := map[place]bool{}
	for _, verdict := range []struct {
		text string
		wins bool
	}{{"  decides", true}, {"  beaten", false}} {
		for _, step := range slices.Backward(steps) {
			at := place{step.Rule.Permission, step.Rule.Pattern, step.Rule.Origin}
			if step.Wins == verdict.wins && !shown[at] {
				shown[at] = true
				t.add(verdict.text, ruleText(step.Rule), step.Rule.Origin)
			}
		}
	}
	if by := approved.Decide(key, pattern); d.Action == sdk.ActionAsk && !d.Final && by.Action == sdk.ActionAllow {
		t.add("  allowed for good", ruleText(by.Rule), by.Rule.Origin)
	}
	b.WriteString(t.text(0))
	if d.Guarded != "" {
		fmt.Fprintf(b, "  always asked for: programs run %s by themselves or it steers agents; a rule that names it allows it\n", d.Guarded)
	}
}

func ruleText(r sdk.PermissionRule) string {
	return oneLine(fmt.Sprintf("%s %q %s", r.Permission, r.Pattern, r.Action))
}

// lintPermissions prints the rules of the configuration that never decide.
func (a *app) lintPermissions(ctx context.Context) error {
	w, err := a.configured(ctx)
	if err != nil {
		return err
	}
	c := w.loaded.Config
	shadows := permission.Shadowed(w.dirs.home, c.Permission)
	for _, agent := range c.Agent {
		shadows = append(shadows, permission.Shadowed(w.dirs.home, agent.Permission)...)
	}
	var b strings.Builder
	slips := 0
	for _, w := range w.loaded.Warnings {
		if strings.HasPrefix(w.Key, "permission") || strings.Contains(w.Key, ".permission") {
			slips++
			b.WriteString(oneLine(w.String()) + "\n")
		}
	}
	if len(shadows)+slips == 0 {
		return a.write("every rule can decide something\n")
	}
	for _, s := range shadows {
		fmt.Fprintf(&b, "%s: %s never decides: %s (%s) stands behind it and matches all of it\n", s.Rule.Origin, ruleText(s.Rule), ruleText(s.By), s.By.Origin)
	}
	if err := a.write(b.String()); err != nil {
		return err
	}
	return &failure{exitConfig, fmt.Errorf("%s can never decide, %s", plural(len(shadows), "rule"), plural(slips, "name")+" may be misspelt or of no effect"), "correct or remove them, or put them behind the rules that cover them: the last rule that matches decides"}
}

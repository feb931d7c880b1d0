package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/ask"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// shellTool is the tool through which the shell commands of templates run, as those that the model asks for do.
	shellTool = "bash"
	// maxTemplateShells bounds the shell commands of one template: each is asked for.
	maxTemplateShells = 32
	// maxTemplateReason bounds what the ledger keeps of a shell command, in bytes.
	maxTemplateReason = 200
)

// runTemplate runs the shell commands of a command's template, one after the other, each as a call of the bash tool (callTool), and
// keeps their output. Nothing of it is in the conversation but the output; the ledger has the calls, and events tell of them.
// What fails as a command is output like any other; what may not run, or is ended, fails the prompt.
func (t *turn) runTemplate(ctx context.Context, c *command, u *sdk.UserMessage, ledger *hooks.Ledger) error {
	var shells []*piece
	for i := range c.pieces {
		if c.pieces[i].kind == pieceShell {
			shells = append(shells, &c.pieces[i])
		}
	}
	switch {
	case len(shells) == 0:
		return nil
	case len(shells) > maxTemplateShells:
		return fmt.Errorf("command %s: %d shell commands in its template, at most %d are run; put them into a script", c.label(), len(shells), maxTemplateShells)
	}
	v, err := t.templateTurn(ctx, c, u, ledger)
	if err != nil {
		return err
	}
	var entries []hooks.Entry
	for _, p := range shells {
		var entry hooks.Entry
		entry, err = v.templateCall(ctx, c, p)
		entries = append(entries, entry)
		if err != nil {
			break
		}
	}
	ask.StoreEntries(t.c, t.g, u.ID, t.Purpose, entries)
	return err
}

// templateTurn returns a turn in which the calls of a template are judged, for the message that will hold the prompt.
func (t *turn) templateTurn(ctx context.Context, c *command, u *sdk.UserMessage, ledger *hooks.Ledger) (*turn, error) {
	v := *t
	v.user, v.msg, v.calls, v.ledger, v.halted = u, nil, nil, ledger, &halting{}
	v.tools = &toolset{tools: map[string]*tool{}}
	if err := v.distrust(ctx, c); err != nil {
		return nil, err
	}
	v.gather(ctx, v.tools)
	if v.tools.find(shellTool) == nil {
		return nil, fmt.Errorf("command %s runs shell commands in its template, which agent %q may not do; choose another agent, or allow it the tool %s",
			c.label(), v.Agent.Name, shellTool)
	}
	return &v, nil
}

// distrust bounds the rules for a template that came with the repository. What the repository itself allows does not count; and
// what is not approved is asked for in any case, which no rule, stored approval, hook or flag answers.
func (t *turn) distrust(ctx context.Context, c *command) error {
	trust := t.h.trust(c)
	if !trust.Repository {
		return nil
	}
	s := *t.Setup
	t.Setup = &s
	var err error
	if s.Rules, _, err = t.h.rulesUnder(ctx, t.g, &t.Agent, t.c.SessionCopy(), t.h.ownRules); err != nil || trust.Approved {
		return err
	}
	home := t.h.opts.Project.Home
	s.Rules = s.Rules.Within(permission.Compile(home, sdk.PermissionRules{{
		Permission: "*", Pattern: "*", Action: sdk.ActionAsk, Origin: c.label() + ", which the repository brings and nobody approved (tenon permission approve)",
	}}).Within(permission.Compile(home, t.h.opts.Managed)))
	return nil
}

// templateCall runs one shell command, keeps its output and returns what the ledger has of it.
func (t *turn) templateCall(ctx context.Context, c *command, p *piece) (hooks.Entry, error) {
	args, err := json.Marshal(map[string]string{"command": p.text, "description": "for " + c.label()})
	if err != nil {
		return hooks.Entry{}, err // strings always encode
	}
	result, entry, err := t.callFor(ctx, &call{byPlugin: c.Owner, template: c.label(), raw: args}, shellTool, t.user.ID)
	said := visible.Cut(p.text, maxTemplateReason, "…")
	entry.Reason = "in the template of " + c.label() + ": " + said
	if err != nil {
		return entry, fmt.Errorf("command %s: !`%s`: %w", c.label(), said, err)
	}
	lines, size := t.outputLimits()
	p.output = fitShell(result, lines, size)
	return entry, nil
}

// fitShell returns the output of a shell command as it goes into a prompt: within the limits of a tool's output, without the line
// breaks at its end.
func fitShell(r *sdk.ToolResult, lines, size int) string {
	output := strings.ToValidUTF8(r.Output, "\uFFFD")
	kept := cutOutput(output, lines, size, r.KeepTail)
	if len(kept) < len(output) {
		kept = fmt.Sprintf("[the last %d of %d bytes]\n%s", len(kept), len(output), kept)
	}
	return strings.TrimRight(kept, "\r\n")
}

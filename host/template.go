package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// shellTool is the tool that runs the shell commands of templates, like those of the model.
const shellTool = "bash"

// templateShell returns the function that runs shell commands of a command's template, each as a call of the bash tool (callTool).
// The conversation contains only the output. The calls are published and in the ledger.
func (s *step) templateShell(ctx context.Context, c *input.Command, u *sdk.UserMessage, ledger *hooks.Ledger) (func(context.Context, string) (*sdk.ToolResult, error), error) {
	v, err := s.templateStep(ctx, c, u, ledger)
	if err != nil {
		return nil, err
	}
	where := "in the template of " + c.Label()
	if c.IsShellLine() {
		where = c.Label()
	}
	return func(ctx context.Context, line string) (*sdk.ToolResult, error) {
		args, _ := json.Marshal(map[string]string{"command": line, "description": "for " + c.Label()}) // strings always encode
		return v.callFor(ctx, &call{byPlugin: c.Owner, template: c.Label(), raw: args}, shellTool, u.ID, where+": "+visible.Cut(line, input.MaxShownCommand, "…"))
	}, nil
}

// templateStep returns a step with the rules and the tools for the calls of a template; u is the message that will hold the prompt.
func (s *step) templateStep(ctx context.Context, c *input.Command, u *sdk.UserMessage, ledger *hooks.Ledger) (*step, error) {
	v := s.apart(u, nil, ledger)
	v.halted = &halting{}
	if err := v.restrictTemplate(ctx, c); err != nil {
		return nil, err
	}
	v.tools = tools.All(ctx, v.toolScope())
	if v.tools.Find(shellTool) == nil {
		if c.IsShellLine() {
			return nil, &sdk.Refusal{By: "rule", Reason: fmt.Sprintf("agent %q may not run shell commands", v.Agent.Name)}
		}
		return nil, fmt.Errorf("%w %s runs shell commands in its template, which agent %q may not do; choose another agent, or allow it the tool %s",
			input.ErrCommand, c.Label(), v.Agent.Name, shellTool)
	}
	return v, nil
}

// restrictTemplate restricts the rules for a template from the repository: the repository's own allow rules do not count. If the template is
// not approved, every call asks the user, whatever rules, stored approvals, hooks or flags allow.
func (s *step) restrictTemplate(ctx context.Context, c *input.Command) error {
	trust := s.host.opts.Policy.OfCommand(&c.Command.Command)
	if !trust.Repository {
		return nil
	}
	setup := *s.Setup
	s.Setup = &setup
	var err error
	if setup.Rules, _, err = s.gen.Rules(ctx, s.host.Session, &s.Agent, s.conv.SessionCopy(), true); err != nil || trust.Approved {
		return err
	}
	setup.Rules = setup.Rules.AskAll(c.Label() + ", which is the repository's and not approved (tenon permission approve)")
	return nil
}

// templateAuthor returns the author of a command's template.
func (h *Host) templateAuthor(c *input.Command) input.Author {
	switch {
	case !c.Owner.Builtin():
		return input.AuthorPlugin
	case h.opts.Policy.OfCommand(&c.Command.Command).Repository:
		return input.AuthorRepository
	}
	return input.AuthorUser
}

package host

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/sdk"
)

// command is a command that is called, and whose it is.
type command struct {
	generation.Command
	rendered bool    // its plugin writes the prompt
	pieces   []piece // of its template with the arguments in place; nil when rendered
}

// label names the command and where its template stands.
func (c *command) label() string {
	return fmt.Sprintf("/%s (%s)", c.Name, cmp.Or(c.Origin, "plugin "+c.Owner.Manifest.Name))
}

// runs reports whether the template runs shell commands.
func (c *command) runs() bool {
	return slices.ContainsFunc(c.pieces, func(p piece) bool { return p.kind == pieceShell })
}

// expandCommand finds the command that a prompt calls and fills its template; nil for a prompt that calls none. A plugin that
// writes the prompts of its commands itself is asked later; what stands in their templates is for people then.
func (h *Host) expandCommand(ctx context.Context, g *generation.Set, in *PromptInput) (*command, error) {
	if in.Command == "" {
		return nil, nil
	}
	list := g.Commands(ctx)
	i := slices.IndexFunc(list, func(c generation.Command) bool { return c.Name == in.Command })
	if i < 0 {
		names := make([]string, len(list))
		for k, c := range list {
			names[k] = c.Name
		}
		return nil, fmt.Errorf("command %q: %w; the commands are %s", in.Command, ErrNotFound, strings.Join(names, ", "))
	}
	c := command{Command: list[i]}
	if _, c.rendered = c.Owner.Value.(sdk.CommandRenderer); c.rendered {
		return &c, nil
	}
	c.pieces = fillTemplate(c.Template, in.Text, c.Owner.Builtin())
	return &c, nil
}

// promptText returns the parts of the prompt that the user typed or a command makes.
func (t *turn) promptText(ctx context.Context, r *resolver, in *PromptInput, c *command, u *sdk.UserMessage, ledger *hooks.Ledger) (sdk.Parts, error) {
	switch {
	case c == nil:
		return r.text(ctx, in.Text, spans{}), nil
	case c.rendered:
		return c.render(ctx, t.h, in.Text)
	}
	if err := t.runTemplate(ctx, c, u, ledger); err != nil {
		return nil, err
	}
	text, foreign := joinPieces(c.pieces, t.h.author(c))
	return r.text(ctx, text, foreign), nil
}

// trust returns whose a command is.
func (h *Host) trust(c *command) CommandTrust {
	if h.opts.TrustCommand == nil {
		return CommandTrust{}
	}
	return h.opts.TrustCommand(&c.Command.Command)
}

func (h *Host) author(c *command) author {
	switch {
	case !c.Owner.Builtin():
		return authorPlugin
	case h.trust(c).Repository:
		return authorRepository
	}
	return authorUser
}

// delegates reports whether a command's prompt goes to a subagent.
func delegates(c *sdk.Command, a *sdk.Agent) bool {
	if c.Subtask != nil {
		return *c.Subtask
	}
	return a.Mode == sdk.ModeSubagent
}

// commandParts turns the prompt of a command that belongs to a subagent into a subtask. What the prompt mentions is resolved in
// the subagent's session, unless it was said already what it stands for.
func (t *turn) commandParts(c *sdk.Command, parts sdk.Parts) sdk.Parts {
	if t.delegate == "" {
		return parts
	}
	var prompt []string
	for _, p := range parts {
		if text, ok := p.(*sdk.TextPart); ok && (t.rendered || !text.Synthetic) {
			prompt = append(prompt, text.Text)
		}
	}
	return sdk.Parts{&sdk.SubtaskPart{
		Prompt: strings.Join(prompt, "\n"), Description: cmp.Or(c.Description, c.Name), Agent: t.delegate, Command: c.Name,
	}}
}

package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/sdk"
)

// Command is a called command with its arguments. A prompt that calls none is a command without a name, whose template is the text of the user.
type Command struct {
	generation.Command
	rendered bool    // its plugin writes the prompt
	pieces   []piece // of its template with the arguments in place; nil when rendered
	line     bool    // the prompt is a shell command of the user, and its output
}

// IsShellLine reports whether the prompt is a shell command of the user.
func (c *Command) IsShellLine() bool { return c.line }

// Label names the command and the origin of its template.
func (c *Command) Label() string {
	if c.line {
		return "the shell line that you typed"
	}
	return fmt.Sprintf("/%s (%s)", c.Name, cmp.Or(c.Origin, "plugin "+c.Owner.Manifest.Name))
}

// Chooses reports whether the command chooses the agent and the model of its turn. The user's choices override it.
func (c *Command) Chooses(agent, model string) (itsAgent, itsModel bool) {
	itsAgent = agent == "" && c.Agent != ""
	return itsAgent, model == "" && (c.Model != "" || c.Variant != "" || itsAgent)
}

// shells returns the shell commands of the template.
func (c *Command) shells() (out []*piece) {
	for i := range c.pieces {
		if c.pieces[i].kind == pieceShell {
			out = append(out, &c.pieces[i])
		}
	}
	return out
}

// maxFilled is the maximum size in bytes that the repeated arguments of a command may have in its prompt, more than any model reads.
const maxFilled = 32 << 20

// Expand finds a command by its name and fills its template. Without a name, the arguments are the prompt or, with shell, a shell command. The
// templates of a plugin that renders its commands itself are only for display; Resolver.Parts calls it later.
func Expand(ctx context.Context, set *generation.Set, name, arguments string, shell bool) (*Command, error) {
	if name == "" || shell {
		user := &generation.Plugin{Manifest: sdk.Manifest{Name: "user", Carrier: sdk.CarrierBuiltin}}
		typed := piece{kind: pieceArgument, text: arguments}
		if shell {
			typed.kind = pieceShell
		}
		return &Command{Command: generation.Command{Owner: user}, pieces: []piece{typed}, line: shell}, nil
	}
	list := set.Commands(ctx)
	i := slices.IndexFunc(list, func(c generation.Command) bool { return c.Name == name })
	if i < 0 {
		names := make([]string, len(list))
		for k, c := range list {
			names[k] = c.Name
		}
		return nil, fmt.Errorf("command %q: %w; the commands are %s", name, live.ErrNotFound, strings.Join(names, ", "))
	}
	c := Command{Command: list[i]}
	if _, c.rendered = c.Owner.Value.(sdk.CommandRenderer); c.rendered {
		return &c, nil
	}
	if n := len(placeholder().FindAllStringIndex(c.Template, -1)); n > 1 && n*len(arguments) > maxFilled {
		return nil, fmt.Errorf("command %s: its template has %d placeholders, so arguments of %d bytes can make a prompt of more than %d MiB; pass shorter arguments, such as the name of a file",
			c.Label(), n, len(arguments), maxFilled>>20)
	}
	c.pieces = fillTemplate(c.Template, arguments, c.Owner.Builtin())
	return &c, nil
}

// ByOthers reports whether the user did not write all of the prompt: a plugin, another author or shell commands did.
func (c *Command) ByOthers(by Author) bool {
	return c.rendered || len(c.shells()) > 0 || by != AuthorUser
}

// Delegates reports whether the command's prompt goes to a subagent. a is the command's agent.
func (c *Command) Delegates(a *sdk.Agent) bool {
	if c.Command.Subtask != nil {
		return *c.Command.Subtask
	}
	return c.Name != "" && a.Mode == sdk.ModeSubagent
}

// Subtask turns the prompt of a command that belongs to a subagent into a subtask. References in the prompt are resolved in
// the subagent's session, unless the user did not write all of the prompt (ByOthers): then its synthetic parts stay.
func (c *Command) Subtask(agent string, parts sdk.Parts, byOthers bool) *sdk.SubtaskPart {
	var prompt []string
	for _, p := range parts {
		if text, ok := p.(*sdk.TextPart); ok && (byOthers || !text.Synthetic) {
			prompt = append(prompt, text.Text)
		}
	}
	return &sdk.SubtaskPart{
		Prompt: strings.Join(prompt, "\n"), Description: cmp.Or(c.Description, c.Name), Agent: agent, Command: c.Name,
	}
}

// ErrCommand is wrapped by the errors of commands that give no prompt; they name the command and the reason.
var ErrCommand = errors.New("command")

// render returns the prompt of a command whose plugin writes it.
func (c *Command) render(ctx context.Context, log *slog.Logger, arguments string) (sdk.Parts, error) {
	renderer := c.Owner.Value.(sdk.CommandRenderer)
	parts, err := hooks.WithDeadline(ctx, log, referenceTimeout, func(ctx context.Context) (sdk.Parts, error) {
		return renderer.RenderCommand(ctx, c.Name, arguments)
	})
	if err == nil {
		parts, err = generation.ForeignParts(parts)
	}
	if err == nil && len(parts) == 0 {
		err = errors.New("it returned an empty prompt")
	}
	if err != nil {
		return nil, fmt.Errorf("%w %q: plugin %s: %w", ErrCommand, c.Name, c.Owner.Manifest.Name, err)
	}
	return parts, nil
}

// Package shell is the plugin that gives the model a shell: the tool bash.
//
// # A call
//
//	Prepare: text ──parse──► simple commands ──judge──► permission "bash", one pattern each, or one for the whole text
//	                                            ├─────► permission "external_directory" for paths outside of the project
//	                                            └─────► permission "edit" for files that are written
//	Execute: sandbox, fresh process group ──► output, bounded ──► result
//	         timeout, abort, end of the shell ──► all processes of the call end ──► changes to git's settings and hooks are restored
//
// The judgement (grammar.go, judge.go, program.go, programs.txt, deny.go, git.go) and the run (run.go, proc_*.go, survivors_*.go) are
// independent of each other. The confinement is in box.go and confinement.go.
package shell

import (
	"context"
	"errors"
	"log/slog"

	"github.com/tenonhq/tenon/builtin/internal/gitkeep"
	"github.com/tenonhq/tenon/internal/sandbox"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin is the shell plugin.
type Plugin struct {
	bash *bash
}

var (
	_ sdk.Plugin     = (*Plugin)(nil)
	_ sdk.ToolSource = (*Plugin)(nil)
	_ sdk.Hooker     = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin {
	return &Plugin{bash: &bash{log: slog.New(slog.DiscardHandler)}}
}

// Manifest names the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "shell", Description: "runs shell commands", Carrier: sdk.CarrierBuiltin}
}

// Start records the configuration. It starts no process.
func (p *Plugin) Start(_ context.Context, h sdk.Host) error {
	p.bash.log = h.Logger()
	p.bash.box.project = h.Project()
	p.bash.box.git = gitkeep.Of(h.Project().Worktree)
	if c, ok := h.(sdk.ConfigReader); ok && c.Config() != nil {
		p.bash.wanted = c.Config().Shell
		p.bash.box.config, p.bash.box.skills = c.Config().Sandbox, sandbox.SkillDirectories(c.Config().Skills)
	}
	return nil
}

// Close ends the running commands and their guard, and removes their temporary files.
func (p *Plugin) Close(context.Context) error {
	return errors.Join(p.bash.guard.close(), p.bash.box.close())
}

// Tools returns bash.
func (p *Plugin) Tools() []sdk.Tool { return []sdk.Tool{p.bash.tool()} }

// Hooks returns a hook for the end of a turn. It restores changes to git that could not be restored after their command, and logs them and
// the changes of other processes.
func (p *Plugin) Hooks() []sdk.Hook {
	return []sdk.Hook{sdk.OnTurnStop(func(ctx context.Context, _ *sdk.TurnStopInput) (sdk.StopDecision, error) {
		for _, note := range p.bash.box.endTurn(ctx) {
			p.bash.log.Warn("a command changed programs that git runs automatically", "change", note)
		}
		return sdk.StopDecision{}, nil
	})}
}

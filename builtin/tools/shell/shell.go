// Package shell is the plugin that gives the model a shell: the tool bash.
//
// # A call
//
//	Prepare: text ──parse──► simple commands ──► permission "bash", one pattern each
//	              ├─trace──► paths they name ──► permission "external_directory" for those outside
//	              └─judge──► commands within, files written, what cannot be told ──► further patterns of "bash"
//	Execute: sandbox, fresh process group ──► output, bounded ──► result
//	         timeout, abort, end of the shell ──► all it started is ended ──► git's settings and hooks are looked at
//
// Reading the text (parse.go, trace.go, judge.go, special*.go, hidden.go, …) and running it (run.go, proc_*.go) know nothing of each
// other. What confines it is in box.go, confinement.go and git*.go.
package shell

import (
	"context"
	"errors"
	"log/slog"

	"github.com/tenonhq/tenon/sdk"
)

// Plugin is the shell plugin.
type Plugin struct {
	tool *bash
}

var (
	_ sdk.Plugin     = (*Plugin)(nil)
	_ sdk.ToolSource = (*Plugin)(nil)
	_ sdk.Hooker     = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin {
	return &Plugin{tool: &bash{log: slog.New(slog.DiscardHandler)}}
}

// Manifest names the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "shell", Description: "runs shell commands", Carrier: sdk.CarrierBuiltin}
}

// Start remembers which shell the user wants. It looks for none and starts nothing.
func (p *Plugin) Start(_ context.Context, h sdk.Host) error {
	p.tool.log = h.Logger()
	p.tool.home = h.Project().Home
	p.tool.box.project, p.tool.box.log = h.Project(), h.Logger()
	if c, ok := h.(sdk.ConfigReader); ok && c.Config() != nil {
		p.tool.wanted = c.Config().Shell
		p.tool.box.config, p.tool.box.skills = c.Config().Sandbox, c.Config().Skills.Paths
	}
	return nil
}

// Close ends what watches over running commands, and with it commands that still run, and removes their temporary files.
func (p *Plugin) Close(context.Context) error {
	return errors.Join(p.tool.guard.close(), p.tool.box.close())
}

// Tools returns bash.
func (p *Plugin) Tools() []sdk.Tool { return []sdk.Tool{p.tool} }

// Hooks looks at what git runs by itself once more when a turn ends: what commands still owe is put back, what another process changed is
// named. The log shows both to the user.
func (p *Plugin) Hooks() []sdk.Hook {
	return []sdk.Hook{sdk.OnTurnStop(func(ctx context.Context, _ *sdk.TurnStopInput) (sdk.StopDecision, error) {
		for _, note := range p.tool.box.endTurn(ctx) {
			p.tool.log.Warn("what git runs by itself changed", "change", note)
		}
		return sdk.StopDecision{}, nil
	})}
}

// Package shell is the plugin that gives the model a shell: the tool bash.
//
// # A call
//
//	Prepare: text ──parse──► simple commands ──► permission "bash", one pattern each
//	              ├─trace──► paths they name ──► permission "external_directory" for those outside
//	              └─judge──► commands within, files written, what cannot be told ──► further patterns of "bash"
//	Execute: fresh process group ──► output, bounded ──► result
//	         timeout, abort, end of the shell ──► the whole group is ended
//
// Reading the text (parse.go, trace.go, judge.go, special*.go, hidden.go, …) and running it (run.go, proc_*.go) know nothing of each
// other.
package shell

import (
	"context"
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
	if c, ok := h.(sdk.ConfigReader); ok && c.Config() != nil {
		p.tool.wanted = c.Config().Shell
	}
	return nil
}

// Close ends what watches over running commands, and with it commands that still run.
func (p *Plugin) Close(context.Context) error { return p.tool.guard.close() }

// Tools returns bash.
func (p *Plugin) Tools() []sdk.Tool { return []sdk.Tool{p.tool} }

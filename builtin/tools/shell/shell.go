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

// New returns the plugin.
func New() *sdk.Bundle {
	b := &bash{log: slog.New(slog.DiscardHandler)}
	stop := sdk.OnTurnStop(b.endTurn)
	stop.Timeout = sdk.MaxHookTimeout // git takes seconds to list the index of a large repository on a busy machine
	return &sdk.Bundle{
		Info:     sdk.Manifest{Name: "shell", Description: "runs shell commands", Carrier: sdk.CarrierBuiltin},
		HookList: []sdk.Hook{stop},
		ToolList: []sdk.Tool{b.tool()},
		OnStart:  b.configure,
		OnClose:  b.close,
	}
}

// configure records the configuration, and warns if the machine lacks a shell. It starts no process.
func (t *bash) configure(_ context.Context, h sdk.Host) error {
	t.log = h.Logger()
	t.box.project = h.Project()
	t.box.git = gitkeep.Of(h.Project().Worktree)
	if c, ok := h.(sdk.ConfigReader); ok && c.Config() != nil {
		t.wanted = c.Config().Shell
		t.box.config, t.box.skills = c.Config().Sandbox, sandbox.SkillDirectories(c.Config().Skills)
	}
	if _, err := findShell(t.wanted, h.Project().Worktree); err != nil {
		t.log.Warn(err.Error())
	}
	return nil
}

// close ends the running commands and their guard, and removes their temporary files.
func (t *bash) close(context.Context) error {
	return errors.Join(t.guard.close(), t.box.close())
}

// endTurn restores changes to git that could not be restored after their command, and logs them and the changes of other processes.
func (t *bash) endTurn(ctx context.Context, _ *sdk.TurnStopInput) (sdk.StopDecision, error) {
	for _, note := range t.box.endTurn(ctx) {
		t.log.Warn("a command changed programs that git runs automatically", "change", note)
	}
	return sdk.StopDecision{}, nil
}

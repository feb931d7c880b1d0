package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/sandbox"
)

// Sandbox returns the paths of the project's sandbox.
func (w *Workspace) Sandbox() ([]sandbox.Path, error) {
	list, err := sandbox.Find(sandbox.Options{Project: w.Project, Environ: w.App.Env, Config: w.Loaded.Config.Sandbox, Skills: w.Loaded.Config.Skills.Paths, Origin: w.Loaded.Origin})
	if err != nil {
		return nil, Fail(ExitConfig, err, "change sandbox in the configuration; see docs/permissions.md")
	}
	return list, nil
}

// Confinement describes whether commands in the project run confined, and if not, why.
func (w *Workspace) Confinement(list []sandbox.Path) string {
	if on := w.Loaded.Config.Sandbox.Enabled; on != nil && !*on {
		return "not confined: disabled at " + w.Loaded.Origin("sandbox.enabled")
	}
	abi, err := confine.Supported()
	if err != nil {
		return "not confined: " + err.Error()
	}
	rules, err := confine.New(sandbox.Policy(list, w.Project.Worktree))
	var conflict *confine.ConflictError
	if errors.As(err, &conflict) {
		return fmt.Sprintf("not confined, so each command asks: the project contains %s, which confined commands must not read", conflict.Hidden)
	}
	if err != nil {
		return "not confined: " + err.Error()
	}
	if err := rules.Close(); err != nil {
		return "not confined: " + err.Error()
	}
	text := fmt.Sprintf("confined by Landlock (ABI %d)", abi)
	if gaps := confine.Gaps(abi); len(gaps) > 0 {
		text += ", except that " + strings.Join(gaps, "; ")
	}
	return text
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/sandbox"
)

func (a *app) sandboxCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "sandbox", Short: "Show what commands of the model may read and write, and why", Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.showSandbox(cmd.Context(), all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "also hidden paths that do not exist")
	return cmd
}

// showSandbox lists the paths of the sandbox of this project with their origin.
func (a *app) showSandbox(ctx context.Context, all bool) error {
	w, err := a.configured(ctx)
	if err != nil {
		return err
	}
	list, err := w.sandbox()
	if err != nil {
		return err
	}
	t := &table{}
	t.add(string(sandbox.Write), w.project.Worktree, "the project")
	t.add(string(sandbox.Write), "$TMPDIR", "a directory for each session, removed afterwards")
	for _, p := range list {
		if _, err := os.Lstat(p.Path); err != nil && p.Access == sandbox.Hide && p.Origin != sandbox.Own && !all {
			continue // hidden as soon as it exists
		}
		t.add(string(p.Access), oneLine(p.Path), p.Origin)
	}
	if err := a.write(w.confinement(list) + "\n"); err != nil {
		return err
	}
	return a.writeTable(t)
}

// sandbox returns the paths of the sandbox of the project. A configuration that cannot be followed is an error that names its place.
func (w *workspace) sandbox() ([]sandbox.Path, error) {
	list, err := sandbox.Find(sandbox.Options{Project: w.project, Environ: w.app.env, Config: w.loaded.Config.Sandbox, Skills: w.loaded.Config.Skills.Paths, Origin: w.loaded.Origin})
	if err != nil {
		return nil, fail(exitConfig, err, "change sandbox in the configuration; see docs/permissions.md")
	}
	return list, nil
}

// confinement says whether commands in the project run confined, and if not, why.
func (w *workspace) confinement(list []sandbox.Path) string {
	if on := w.loaded.Config.Sandbox.Enabled; on != nil && !*on {
		return "not confined: switched off at " + w.loaded.Origin("sandbox.enabled")
	}
	abi, err := confine.Supported()
	if err != nil {
		return "not confined: " + err.Error()
	}
	rules, err := confine.New(sandbox.Policy(list, w.project.Worktree))
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

// sandbox reports whether commands of the model run confined.
func (c *checkup) sandbox(w *workspace) {
	list, err := w.sandbox()
	if err != nil {
		c.bad("sandbox", err)
		return
	}
	text := w.confinement(list)
	if strings.HasPrefix(text, "not confined") {
		c.note("sandbox", "commands of the model are %s", text)
		return
	}
	c.ok("sandbox", "commands of the model are %s", text)
}

package manage

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/internal/sandbox"
	"github.com/tenonhq/tenon/sdk"
)

func sandboxCommand(a *cli.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "sandbox", Short: "Show the paths that the model's commands can read and write, and why", Args: cli.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return showSandbox(cmd.Context(), a, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "also show hidden paths that do not exist")
	return cmd
}

// showSandbox prints the paths of the sandbox and their origins.
func showSandbox(ctx context.Context, a *cli.App, all bool) error {
	w, err := a.Configured(ctx)
	if err != nil {
		return err
	}
	list, err := w.Sandbox()
	if err != nil {
		return err
	}
	t := &view.Table{}
	t.Add(string(sandbox.Write), w.Project.Worktree, "the project")
	t.Add(string(sandbox.Write), "$TMPDIR", "a directory for each session, removed afterwards")
	for _, p := range list {
		if _, err := os.Lstat(p.Path); err != nil && p.Access == sandbox.Hide && p.Origin != sandbox.Own && !all {
			continue // will be hidden if it is created
		}
		t.Add(string(p.Access), terminal.OneLine(p.Path), p.Origin)
	}
	for _, name := range w.Loaded.Config.Sandbox.Unconfined {
		t.Add(sdk.PermissionUnconfined, terminal.OneLine(name), w.Loaded.Origin("sandbox.unconfined"))
	}
	if err := a.Print(w.Confinement(list) + "\n"); err != nil {
		return err
	}
	return a.PrintTable(t)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/chat"
	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/inspect"
	"github.com/tenonhq/tenon/cmd/tenon/internal/install"
	"github.com/tenonhq/tenon/cmd/tenon/internal/manage"
	"github.com/tenonhq/tenon/cmd/tenon/internal/sessions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui"
)

// run runs the command line, prints its error, and returns the exit code. managed is the path of the administrator's configuration,
// which neither users nor projects can change.
func run(ctx context.Context, args []string, env []string, s cli.Streams, managed string) int {
	a := cli.New(s, env, version, managed)
	a.Start = openMachine
	root := rootCommand(a)
	root.SetArgs(args)
	root.SetIn(s.In)
	help := &checkedWriter{w: s.Out}
	root.SetOut(help)
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	a.Screen.Close()
	if help.err != nil && (err == nil || errors.Is(err, help.err)) {
		err = cli.OutputError(help.err)
	}
	return a.Exit(err)
}

func rootCommand(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "tenon",
		Short: "Run a coding agent: a small core, everything else is a plugin",
		Example: `  tenon run "explain what this project does"
  tenon run -c "and now add a test"
  git diff | tenon run "review this change"`,
		SilenceErrors: true, SilenceUsage: true,
	}
	cli.Group(root)
	a.GlobalFlags(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.UsageError(fmt.Sprintf("%s --help lists the flags", cmd.CommandPath()), "%w", err)
	})
	root.AddCommand(runCommand(a), tui.Command(a), chat.Command(a), sessions.Command(a), exitCodesTopic())
	root.AddCommand(inspect.Commands(a)...)
	root.AddCommand(manage.Commands(a, func(ctx context.Context, yes bool) error { return approveRules(ctx, a, yes) }, install.Commands(a))...)
	return root
}

// checkedWriter keeps the first write error, because cobra ignores errors when it writes help and completion scripts.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

func exitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit codes of tenon:\n\n")
	for _, c := range cli.ExitCodes() {
		fmt.Fprintf(&b, "  %3d  %s\n", c.Code, c.Meaning)
	}
	return &cobra.Command{Use: "exit-codes", Short: "List the exit codes", Long: b.String()}
}

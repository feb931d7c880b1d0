package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenonhq/tenon/cmd/tenon/internal/chat"
	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/inspect"
	"github.com/tenonhq/tenon/cmd/tenon/internal/install"
	"github.com/tenonhq/tenon/cmd/tenon/internal/manage"
	"github.com/tenonhq/tenon/cmd/tenon/internal/sessions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
	"github.com/tenonhq/tenon/docs"
)

// run runs the command line, prints its error, and returns the exit code. managed is the path of the administrator's configuration,
// which neither users nor projects can change.
func run(ctx context.Context, args []string, env []string, s cli.Streams, managed string) int {
	a := cli.New(s, env, version, managed)
	a.Start = openMachine
	ctx = a.Interruptible(ctx)
	root, err := rootCommand(a)
	if err != nil {
		return a.Exit(err)
	}
	root.SetArgs(args)
	root.SetIn(s.In)
	help := &checkedWriter{w: s.Out}
	root.SetOut(help)
	root.SetErr(s.Err)
	root.InitDefaultCompletionCmd(args...) // after SetOut, because it stores the writer
	completion, _, _ := root.Find([]string{"completion"})
	cli.Group(completion)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) { // or its variant without descriptions
		addCompletions(a, root)
	}
	err = root.ExecuteContext(ctx)
	a.Screen.Close()
	if ctx.Err() != nil {
		err = cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), "")
	}
	if help.err != nil && (err == nil || errors.Is(err, help.err)) {
		err = cli.OutputError(help.err)
	}
	return a.Exit(err)
}

func rootCommand(a *cli.App) (*cobra.Command, error) {
	root := &cobra.Command{
		Use:   "tenon [prompt]",
		Short: "A coding agent you can extend with plugins",
		Example: `  tenon                                      open the terminal UI
  tenon -c                                   continue the latest session there
  tenon "explain what this project does"
  tenon -c "and now add a test"
  git diff | tenon run "review this change"`,
		SilenceErrors: true, SilenceUsage: true,
	}
	cli.Group(root)
	command := root.RunE
	var f turn.Flags
	f.Register(root)
	showVersion := root.Flags().BoolP("version", "v", false, "print the version")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		continues := f.Resume || f.Session != "" || f.Fork
		switch {
		case *showVersion:
			return inspect.PrintVersion(a)
		case len(args) == 0 && a.Screen.Answers && a.Screen.Streams:
			f.Chat = true
			return tui.Run(cmd.Context(), a, &f, nil)
		case continues, len(args) == 0 && cmd.Flags().NFlag() > 0, // the prompt is in stdin
			len(args) > 0 && strings.ContainsAny(args[0], " \t\n"): // a command is one word
			f.Wait = serverWait
			return runTurn(cmd.Context(), a, &f, args)
		}
		return command(cmd, args)
	}
	a.GlobalFlags(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if own, ok := errors.AsType[*cli.Failure](err); ok {
			return own
		}
		problem, _, _ := strings.Cut(err.Error(), ": strconv.") // without details of the Go function
		fix := fmt.Sprintf("%s --help lists the flags", cmd.CommandPath())
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
			if strings.Contains(cmd.Use, " -- ") {
				fix = `put "--" before a command that has flags; ` + fix
			}
			if strings.ContainsAny(unknown.GetSpecifiedName()+unknown.GetSpecifiedShortnames(), " \n") {
				fix = `put "--" before a prompt or an argument that begins with "-"; ` + fix
			}
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
			fix = cli.Suggest(fix, "--%s", unknown.GetSpecifiedName(), names)
		}
		return cli.UsageError(fix, "%s", problem)
	})
	err := a.AddCommands(root, manual, ownCommands(a), sessions.Commands(a), inspect.Commands(a), manage.Commands(a), install.Commands(a))
	root.SetHelpCommand(helpCommand())
	root.SetHelpCommandGroupID("Diagnose:")
	root.SetCompletionCommandGroupID("Diagnose:")
	return root, err
}

// ownCommands returns the commands of turns, and those that need the wiring or all commands.
func ownCommands(a *cli.App) cli.Commands {
	var yes, dryRun bool
	var output string
	return cli.Commands{
		"run":  runCommand(a),
		"chat": chat.Command(a),
		"tui":  tui.Command(a),
		"permission approve": {
			Run: a.OnConfig(func(ctx context.Context, w *cli.Workspace, _ []string) error {
				return approveRules(ctx, w, yes, dryRun)
			}),
			Flags: cli.Flags{"yes": &yes, "dry-run": &dryRun},
		},
		"docs": {Run: func(_ *cobra.Command, args []string) error {
			text, ok := docs.List(), true
			if len(args) > 0 {
				text, ok = docs.Page(args[0])
			}
			if !ok {
				return cli.UsageError("tenon docs lists the pages", "unknown page %q", args[0])
			}
			return a.Print(text)
		}},
		"man": {Run: printPages(a, &output), Flags: cli.Flags{"output": &output}},
	}
}

// checkedWriter keeps the first write error, because cobra ignores errors when it writes help and completion scripts.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.err = cmp.Or(c.err, err)
	return n, err
}

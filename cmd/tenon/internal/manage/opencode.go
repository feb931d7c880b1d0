package manage

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/config/opencode"
)

func importRootCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "import", Short: "Carry over the configuration of another tool"}
	cli.Group(cmd)
	var output string
	sub := &cobra.Command{
		Use: "opencode [file]", Short: "Print the tenon.json for an opencode.json, and what cannot be carried over",
		Long: `Print the tenon.json that does what an opencode.json does. Without a file it is opencode.json or opencode.jsonc in this
directory, else that of the user. What cannot be carried over is told on stderr with the reason. No file is changed; -o
writes a new one. Agents, commands and skills in .opencode need no import: tenon reads them where they are.`,
		Args: cli.Args(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error { return importOpencode(a, args, output) },
	}
	sub.Flags().StringVarP(&output, "output", "o", "", "write to this file, which must not exist yet, instead of stdout")
	cmd.AddCommand(sub)
	return cmd
}

func importOpencode(a *cli.App, args []string, output string) error {
	file, data, err := findOpencode(a, args)
	if err != nil {
		return err
	}
	result, err := opencode.Translate(data)
	if err != nil {
		return cli.Fail(cli.ExitConfig, fmt.Errorf("%s: %w", file, err), "correct the file, which must be JSON with or without comments; nothing was written")
	}
	for _, n := range result.Notes {
		a.Screen.Line("note: " + terminal.Visible(n.String()))
	}
	if output == "" {
		if _, err := (view.Escaper{Writer: a.Out}).Write(result.Config); err != nil {
			return cli.OutputError(err)
		}
		return nil
	}
	if err := writeNew(output, result.Config); err != nil {
		return cli.Fail(cli.ExitTurn, fmt.Errorf("write %q: %w", output, cli.Cause(err)), "choose a file that does not exist yet, or leave -o out and redirect stdout")
	}
	a.Screen.Line(terminal.Visible(output) + " is written; tenon config check looks for problems in it")
	return nil
}

// findOpencode reads the file that is named, else the nearest one.
func findOpencode(a *cli.App, args []string) (string, []byte, error) {
	candidates := args
	if len(args) == 0 {
		dir, err := a.Directory()
		if err != nil {
			return "", nil, err
		}
		d, err := cli.FindDirs(a.Env, a.Flags.DataDir)
		if err != nil {
			return "", nil, err
		}
		for _, dir := range []string{dir, filepath.Join(dir, ".opencode"), filepath.Join(filepath.Dir(d.Config), "opencode"), filepath.Join(d.Home, ".config", "opencode")} {
			candidates = append(candidates, filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc"))
		}
	}
	for _, file := range candidates {
		data, err := os.ReadFile(file)
		if err == nil {
			return file, data, nil
		}
		if len(args) > 0 || !os.IsNotExist(err) {
			return "", nil, cli.UsageError("pass an opencode.json that can be read", "import %q: %w", file, cli.Cause(err))
		}
	}
	return "", nil, cli.UsageError("pass the file: tenon import opencode FILE", "there is no opencode.json here, and none of the user")
}

// writeNew writes a file that must not be there.
func writeNew(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

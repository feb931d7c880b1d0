// Package manage holds the commands for plugins, MCP servers and permissions, and the import of another tool's configuration.
package manage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/config/opencode"
)

// Commands returns the commands for plugins, MCP servers and permissions. approveRules is called to approve the rules in the
// project's files; installers are further commands for plugins.
func Commands(a *cli.App, approveRules func(context.Context, ApproveOptions) error, installers []*cobra.Command) []*cobra.Command {
	plugin := pluginCommand(a)
	plugin.AddCommand(installers...)
	return []*cobra.Command{plugin, mcpCommand(a), authCommand(a), permissionCommand(a, approveRules), importRootCommand(a)}
}

func importRootCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "import", Short: "Import the configuration of another tool"}
	cli.Group(cmd)
	var output string
	sub := &cobra.Command{
		Use: "opencode [file]", Short: "Translate an opencode.json into a tenon.json",
		Long: `Translate an opencode.json into a tenon.json and print it. The default file is opencode.json or opencode.jsonc in this
directory, or else in your configuration. Settings that cannot be translated are reported on stderr with the reason. No
file is changed; -o creates a new one. Agents, commands and skills in .opencode need no import: tenon reads them there.`,
		Args: cli.Args(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error { return importOpencode(a, args, output) },
	}
	sub.Flags().StringVarP(&output, "output", "o", "", "write to this new `file` instead of stdout")
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
		return cli.Fail(cli.ExitConfig, fmt.Errorf("%s: %w", file, err), "fix the file; it must be JSON, comments are allowed; nothing was written")
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
		return cli.Fail(cli.ExitTurn, fmt.Errorf("write %q: %w", output, cli.Cause(err)), "choose a new file, or omit -o and redirect stdout")
	}
	a.Screen.Line(terminal.Visible(output) + " was written; check it with tenon config check")
	return nil
}

// findOpencode reads the given file, else the nearest one.
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
		for _, dir := range []string{dir, filepath.Join(dir, ".opencode"), filepath.Join(filepath.Dir(d.ConfigDir), "opencode"), filepath.Join(d.Home, ".config", "opencode")} {
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
	return "", nil, cli.UsageError("pass the file: tenon import opencode FILE", "no opencode.json found here or in your configuration")
}

// writeNew creates a file, which must not exist.
func writeNew(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

package manage

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon"
	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/plugins/scaffold"
	"github.com/tenonhq/tenon/sdk"
)

func pluginNewCommand(a *cli.App) *cobra.Command {
	var carrier, lang, dir string
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Create a plugin that builds and passes its tests",
		Long: `Create a plugin that builds and passes its tests without network access.

Carriers and languages: ` + strings.Join(scaffold.Kinds(), ", ") + `.

  wasm     a sandboxed module without access to files, network, environment or clock unless granted; runs on all platforms
  process  a separate program with all rights of its user
  mcp      a Model Context Protocol server, which works with other hosts too`,
		Example: `  tenon plugin new my-plugin
  tenon plugin new my-server --carrier mcp --lang node`,
		Args: cli.Args(1, 1, "a name"),
		RunE: func(_ *cobra.Command, args []string) error { return newPlugin(a, args[0], carrier, lang, dir) },
	}
	cmd.Flags().StringVar(&carrier, "carrier", "wasm", "how the plugin runs: wasm, process or mcp")
	cmd.Flags().StringVar(&lang, "lang", "go", "programming `language`")
	cmd.Flags().StringVar(&dir, "path", "", "write to this `directory` (default: the name of the plugin)")
	return cmd
}

func newPlugin(a *cli.App, name, carrier, lang, dir string) error {
	if dir == "" {
		base, err := a.Directory()
		if err != nil {
			return err
		}
		dir = filepath.Join(base, name)
	}
	files, err := scaffold.Write(dir, scaffold.Options{Name: name, Carrier: carrier, Lang: lang, SDK: tenon.SDKSource})
	switch {
	case errors.Is(err, sdk.ErrManifest):
		return cli.UsageError(`write a name such as "my-plugin"`, "%w", err)
	case errors.Is(err, scaffold.ErrExists):
		return cli.UsageError("choose another name, or another directory with --path", "%w", err)
	case err != nil:
		return cli.UsageError("tenon plugin new --help lists carriers and languages", "%w", err)
	}
	var b strings.Builder
	for _, file := range files {
		fmt.Fprintln(&b, filepath.Join(dir, filepath.FromSlash(file)))
	}
	if err := a.Print(b.String()); err != nil {
		return err
	}
	a.Screen.Line(fmt.Sprintf("next: tenon plugin test %s", dir))
	return nil
}

package inspect

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/sdk"
)

func configCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Show, check and change the configuration",
		Long: `tenon.json is JSON with comments. Later files override earlier ones, key by key: yours (tenon config path), the project's,
$TENON_CONFIG or --config, $TENON_CONFIG_CONTENT, then variables such as $TENON_MODEL. tenon config show prints every
value with its source.`,
	}
	cli.Group(cmd)
	show := &cobra.Command{
		Use: "show", Short: "Print all configuration values and their sources",
		RunE: a.OnConfig(showConfig),
	}
	check := &cobra.Command{
		Use: "check", Short: "Check the configuration and report every problem",
		Long: `Check the configuration and report every problem: wrong keys and values, command hooks, and models and providers that
cannot be used. It starts plugins and MCP servers as a run does, because plugins add models and providers. No request is
sent to a model; tenon doctor also tests keys and addresses.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return checkConfig(cmd.Context(), a) },
	}
	schema := &cobra.Command{
		Use: "schema", Short: "Print a JSON schema of tenon.json, for editors",
		Long: `Print a JSON schema of tenon.json. Editors use it to complete keys and find mistakes:

  tenon config schema > ~/.config/tenon/schema.json

Then add to tenon.json:  "$schema": "./schema.json"`,
		RunE: func(*cobra.Command, []string) error { return a.Print(config.Schema) },
	}
	cmd.AddCommand(a.FormatFlag(show), a.FormatFlag(check), schema, configGetCommand(a))
	cmd.AddCommand(configFileCommands(a)...)
	return cmd
}

func showConfig(_ context.Context, w *cli.Workspace, _ []string) error {
	public, err := w.Loaded.Redacted()
	if err != nil {
		return err
	}
	if w.App.JSON {
		return w.App.PrintJSON(struct {
			Config  *sdk.Config       `json:"config"`
			Origins map[string]string `json:"origins"`
			Files   []string          `json:"files"`
		}{public, origins(w.Loaded), append([]string{}, w.Loaded.Files...)})
	}
	values, err := valuesOf(w.Loaded)
	if err != nil {
		return err
	}
	t := &view.Table{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if object, ok := values[key].(map[string]any); ok && len(object) > 0 {
			continue // its fields follow
		}
		text, err := json.Marshal(values[key])
		if err != nil {
			return err
		}
		t.Add(key, view.Clip(terminal.OneLine(string(text)), view.SubjectLength), originOf(w.Loaded, key))
	}
	return w.App.PrintTable(t)
}

func origins(l *config.Loaded) map[string]string {
	out := map[string]string{}
	for key, o := range l.Origins {
		out[key] = o.String()
	}
	return out
}

// originOf returns where a value, or a value that contains it, was set.
func originOf(l *config.Loaded, key string) string {
	for key != "" {
		if o := l.Origin(key); o != "" {
			return o
		}
		i := strings.LastIndexAny(key, ".[")
		if i < 0 {
			break
		}
		key = key[:i]
	}
	return ""
}

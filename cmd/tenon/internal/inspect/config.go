package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/builtin/commandhooks"
	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/sdk"
)

func configCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show and check the configuration"}
	cli.Group(cmd)
	show := &cobra.Command{
		Use: "show", Short: "Print all configuration values and their sources",
		Args: cli.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return showConfig(cmd.Context(), a) },
	}
	a.FormatFlag(show)
	check := &cobra.Command{
		Use: "check", Short: "Check the configuration and report every problem",
		Args: cli.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return checkConfig(cmd.Context(), a) },
	}
	schema := &cobra.Command{
		Use: "schema", Short: "Print a JSON schema of tenon.json, for editors",
		Long: `Print a JSON schema of tenon.json. Editors use it to complete keys and find mistakes:

  tenon config schema > ~/.config/tenon/schema.json

Then add to tenon.json:  "$schema": "./schema.json"`,
		Args: cli.Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error { return configSchema(a) },
	}
	cmd.AddCommand(show, check, schema)
	return cmd
}

func configSchema(a *cli.App) error {
	docs, err := fieldDocs()
	if err != nil {
		return err
	}
	text, err := config.Schema(config.SchemaOptions{Describe: func(structName, field string) string { return docs[structName+"."+field] }})
	if err != nil {
		return err
	}
	return a.Print(string(text) + "\n")
}

// checkConfig checks the configuration and its command hooks, which a run would ignore if they are invalid.
func checkConfig(ctx context.Context, a *cli.App) error {
	w, err := a.Configured(ctx)
	if err != nil {
		return err
	}
	var bad []error
	for _, block := range w.Loaded.HookBlocks() {
		_, err := commandhooks.Commands(commandhooks.Source{Where: block.Origin.Source, Data: block.Data})
		bad = append(bad, err)
	}
	if err := errors.Join(bad...); err != nil {
		return cli.Fail(cli.ExitConfig, err, "fix the hooks; until then, tenon ignores the hooks in the file")
	}
	if len(w.Loaded.Files) == 0 {
		return a.Print("no configuration file found: using the defaults\n")
	}
	return a.Print(strings.Join(w.Loaded.Files, "\n") + "\nno problems\n")
}

func showConfig(ctx context.Context, a *cli.App) error {
	w, err := a.Configured(ctx)
	if err != nil {
		return err
	}
	public, err := w.Loaded.Redacted()
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(struct {
			Config  *sdk.Config       `json:"config"`
			Origins map[string]string `json:"origins"`
			Files   []string          `json:"files"`
		}{public, origins(w.Loaded), append([]string{}, w.Loaded.Files...)})
	}
	values, err := flatten(public)
	if err != nil {
		return err
	}
	t := &view.Table{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		t.Add(terminal.OneLine(key), values[key], terminal.OneLine(originOf(w.Loaded, key)))
	}
	return a.PrintTable(t)
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

// flatten returns the values of the configuration by key. A list is one value.
func flatten(c *sdk.Config) (map[string]string, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var root map[string]any
	if err := json.Unmarshal(data, &root); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for key, value := range root {
		flattenInto(out, name(key), value)
	}
	return out, nil
}

func flattenInto(out map[string]string, key string, value any) {
	if object, ok := value.(map[string]any); ok && len(object) > 0 {
		for k, v := range object {
			flattenInto(out, key+"."+name(k), v)
		}
		return
	}
	data, err := json.Marshal(value)
	if err != nil {
		data = fmt.Appendf(nil, "%v", value)
	}
	out[key] = view.Clip(terminal.OneLine(string(data)), view.SubjectLength)
}

// name quotes a name that would be ambiguous in a key, as keys of the configuration do.
func name(s string) string {
	if s == "" || strings.ContainsAny(s, ".\"[] \t\r\n") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

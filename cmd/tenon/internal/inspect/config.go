package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon"
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
		RunE: func(*cobra.Command, []string) error { return configSchema(a) },
	}
	cmd.AddCommand(a.FormatFlag(show), a.FormatFlag(check), schema, configGetCommand(a))
	cmd.AddCommand(configFileCommands(a)...)
	return cmd
}

func configSchema(a *cli.App) error {
	docs, err := fieldDocs()
	if err != nil {
		return err
	}
	text, err := config.Schema(func(structName, field string) string { return docs[structName+"."+field] })
	if err != nil {
		return err
	}
	return a.Print(string(text) + "\n")
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

// fieldDocs returns the comments of all struct fields of package sdk, by "Struct.Field". They document the configuration keys, and are
// read from the embedded source so that they need not be written twice.
func fieldDocs() (map[string]string, error) {
	docs := map[string]string{}
	files, err := fs.Glob(tenon.SDKSource, "sdk/*.go")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(tenon.SDKSource, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Base(name), text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("source of the sdk: %w", err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				structDocs(docs, spec.Name.Name, s)
			}
			return false
		})
	}
	return docs, nil
}

func structDocs(docs map[string]string, name string, s *ast.StructType) {
	for _, field := range s.Fields.List {
		text := cmp.Or(field.Doc.Text(), field.Comment.Text())
		for _, ident := range field.Names {
			docs[name+"."+ident.Name] = strings.Join(strings.Fields(text), " ")
		}
	}
}

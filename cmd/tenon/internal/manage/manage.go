// Package manage holds the commands for plugins, MCP servers and permissions, and the import of another tool's configuration.
package manage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/config/claude"
	"github.com/tenonhq/tenon/host/config/opencode"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
)

// group is the commands with their flags. One of them runs.
type group struct {
	*cli.App
	yes     bool
	without []string
	server  mcpAdd
	check   bool   // of mcp list
	all     bool   // of permission forget
	agent   string // of permission explain
	output  string // of import
	login   authLogin
	created newPlugin
	tests   pluginTest
}

// Commands returns the commands for plugins, MCP servers, keys and permissions, and those that import the configuration of other tools.
func Commands(a *cli.App) cli.Commands {
	g := &group{
		App: a, server: mcpAdd{timeout: mcp.DefaultTimeout}, login: authLogin{App: a}, created: newPlugin{a, "", "go"}, tests: pluginTest{App: a},
	}
	return cli.Commands{
		"plugin list":          {Run: g.OnExtensions(g.listPlugins)},
		"plugin info":          {Run: g.onPlugins(g.showPlugins)},
		"plugin trust":         {Run: g.onPlugins(g.trustPlugin), Flags: cli.Flags{"yes": &g.yes, "without": &g.without}},
		"plugin untrust":       {Run: g.onPlugins(g.untrust)},
		"plugin enable":        {Run: g.onPlugins(g.switchPlugin(true))},
		"plugin disable":       {Run: g.onPlugins(g.switchPlugin(false))},
		"plugin new":           {Run: g.created.write, Flags: cli.Flags{"carrier": &g.created.carrier, "lang": &g.created.lang}},
		"plugin build":         {Run: g.inPackage(buildPlugin, syncManifest)},
		"plugin sync-manifest": {Run: g.inPackage(syncManifest)},
		"plugin test":          {Run: g.tests.start, Flags: cli.Flags{"update": &g.tests.update, "record": &g.tests.record, "no-build": &g.tests.noBuild}},

		"mcp list":    {Run: g.OnExtensions(g.listServers), Flags: cli.Flags{"check": &g.check}},
		"mcp get":     {Run: g.onServer(g.showServer)},
		"mcp add":     {Run: g.OnConfig(g.addServer), Flags: g.server.flags()},
		"mcp remove":  {Run: g.OnConfig(g.removeServer), Flags: cli.Flags{"project": &g.server.project}},
		"mcp enable":  {Run: g.switching(true)},
		"mcp disable": {Run: g.switching(false)},
		"mcp trust":   {Run: g.OnExtensions(g.trustServers), Flags: cli.Flags{"yes": &g.yes}},
		"mcp lock":    {Run: g.OnExtensions(g.pinServers)},
		"mcp tools":   {Run: g.onServer(approved(g.printTools))},
		"mcp call":    {Run: g.onServer(approved(g.callTool))},
		"mcp logs":    {Run: g.onServer(g.printLog)},
		"mcp search":  {Run: g.OnConfig(g.searchRegistry)},
		"mcp login":   {Run: g.onServer(approved(g.signIn))},
		"mcp logout":  {Run: g.onServer(g.logoutServer)},
		"mcp status":  {Run: g.OnExtensions(g.showSignIns)},

		"auth list":   {Run: g.OnPlace(g.listCredentials)},
		"auth login":  {Run: g.login.run, Flags: g.login.flags()},
		"auth logout": {Run: g.OnPlace(g.logout)},

		"permission list":    {Run: g.OnStore(g.listApprovals)},
		"permission forget":  {Run: g.OnStore(g.forgetApprovals), Flags: cli.Flags{"all": &g.all}},
		"permission explain": {Run: g.OnMachine(g.explainPermission), Flags: cli.Flags{"agent": &g.agent}},
		"permission lint":    {Run: g.OnConfig(g.lintPermissions)},
		"permission test":    {Run: g.OnMachine(g.testRule)},
		"permission sandbox": {Run: g.OnConfig(g.showSandbox)},

		"import opencode": {Run: g.importing(opencodeTool()), Flags: cli.Flags{"output": &g.output}},
		"import claude":   {Run: g.importing(claudeTool()), Flags: cli.Flags{"output": &g.output}},
	}
}

// importing returns the work of a command that translates the configuration of another tool.
func (g *group) importing(f *foreign) cli.Work {
	return func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), g.App, args, g.output) }
}

func opencodeTool() *foreign {
	const inPackage = "not imported: tools and plugins of opencode run in a package; tenon docs plugin-opencode shows how"
	return &foreign{
		name: "opencode",
		files: func(dir string, p sdk.Project) (out []string) {
			for _, dir := range []string{dir, filepath.Join(dir, ".opencode"), filepath.Join(filepath.Dir(p.ConfigDir), "opencode"), filepath.Join(p.Home, ".config", "opencode")} {
				out = append(out, filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc"))
			}
			return out
		},
		translate: opencode.Translate,
		others: []otherFiles{
			{"opencode", "AGENTS.md agent agents command commands mode modes skill skills", "not read there: copy it next to the file that tenon config path prints"},
			{"opencode", "plugin plugins tool tools", inPackage},
			{".opencode", "plugin plugins tool tools", inPackage},
		},
	}
}

func claudeTool() *foreign {
	return &foreign{
		name: "claude",
		files: func(dir string, p sdk.Project) []string {
			return []string{filepath.Join(dir, ".claude", "settings.json"), filepath.Join(p.Home, ".claude", "settings.json")}
		},
		translate: func(_ context.Context, text []byte) (*config.Translation, error) { return claude.Translate(text) },
		others: []otherFiles{
			{".claude", "agents commands", `not read there: copy it into a new directory with the file .claude-plugin/plugin.json, {"name": "mine"}, and install that with tenon plugin install`},
			{".claude", "output-styles", "not imported: write an agent with the text"},
			{".claude", "settings.local.json", "not read: pass it as the file to translate it, too"},
		},
	}
}

// foreign is another tool whose configuration can be translated.
type foreign struct {
	name      string
	files     func(directory string, p sdk.Project) []string // possible configuration files, in order
	translate func(ctx context.Context, text []byte) (*config.Translation, error)
	others    []otherFiles
}

// otherFiles are files next to a configuration that are not translated.
type otherFiles struct {
	dir    string // name of the configuration's directory, unless that is the project
	names  string // separated by spaces
	remedy string
}

func (f *foreign) run(ctx context.Context, a *cli.App, args []string, output string) error {
	project, err := a.Directory()
	if err != nil {
		return err
	}
	file, data, err := f.find(a, project, args)
	if err != nil {
		return err
	}
	translated, err := f.translate(ctx, data)
	if err != nil {
		return cli.Fail(cli.ExitConfig, fmt.Errorf("%s: %w", file, err), "fix the file; it must be JSON, comments are allowed; nothing was written")
	}
	for _, n := range append(translated.Notes, f.move(translated, filepath.Dir(file), project, output)...) {
		a.Say("note: %s", n.String())
	}
	if output == "" {
		if _, err := (view.Escaper{Writer: a.Out}).Write(translated.Config); err != nil {
			return cli.OutputError(err)
		}
		return nil
	}
	if err := writeNew(output, translated.Config); err != nil {
		return cli.Fail(cli.ExitTurn, fmt.Errorf("write %q: %w", output, cli.Cause(err)), "choose a new file, or omit -o and redirect stdout")
	}
	a.Say("%s was written; check it with tenon config check", output)
	return nil
}

// fileReference matches a reference to a file by a relative path.
var fileReference = lazyregexp.New(`\{file:([^}~/\\](?:[^}:][^}]*)?)\}`)

// move adapts references to files in the directory from to a configuration in the directory of output. It returns notes about them, and about
// other files in from and in the tool's directory there. There must be a working directory.
func (f *foreign) move(translated *config.Translation, from, project, output string) (notes []config.Note) {
	from, _ = filepath.Abs(from)
	to, _ := filepath.Abs(filepath.Dir(output))
	base, err := filepath.Rel(to, from)
	if err != nil || !filepath.IsLocal(base) {
		base = from
	}
	if base != "." && fileReference().Match(translated.Config) {
		quoted := jsontext.Quote(filepath.ToSlash(base))
		prefix := strings.ReplaceAll(strings.Trim(string(quoted), `"`), "$", "$$")
		translated.Config = fileReference().ReplaceAll(translated.Config, []byte("{file:"+prefix+"/$1}"))
		notes = append(notes, config.Note{Reason: "{file:…} names files in " + from + ": keep them there"})
	}
	for _, o := range f.others {
		for name := range strings.FieldsSeq(o.names) {
			for _, at := range []string{from, filepath.Join(from, "."+f.name)} {
				if _, err := os.Stat(filepath.Join(at, name)); err == nil && o.dir == filepath.Base(at) && at != project {
					notes = append(notes, config.Note{Key: filepath.Join(at, name), Reason: o.remedy})
				}
			}
		}
	}
	return notes
}

// find reads the given file, else the first that exists. It names the others, because the tool reads all of them.
func (f *foreign) find(a *cli.App, project string, args []string) (string, []byte, error) {
	candidates := args
	if len(args) == 0 {
		p, err := cli.FindDirs(a.Env, a.Flags.DataDir)
		if err != nil {
			return "", nil, err
		}
		candidates = f.files(project, p)
	}
	for i, file := range candidates {
		data, err := os.ReadFile(file)
		if err == nil {
			for _, other := range slices.Compact(slices.Sorted(slices.Values(candidates[i+1:]))) {
				if _, err := os.Stat(other); err == nil && other != file {
					a.Say("note: %s: not read: pass it as the file to translate it, too", other)
				}
			}
			return file, data, nil
		}
		if len(args) > 0 || !os.IsNotExist(err) {
			return "", nil, cli.UsageError("pass a file that can be read", "import %q: %w", file, cli.Cause(err))
		}
	}
	return "", nil, cli.UsageError(fmt.Sprintf("pass the file: tenon import %s FILE", f.name), "no %s found here or in your configuration", filepath.Base(candidates[0]))
}

// writeNew creates a file, which must not exist, and its directory.
func writeNew(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

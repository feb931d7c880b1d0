// Package manage holds the commands for plugins, MCP servers and permissions, and the import of another tool's configuration.
package manage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/config/claude"
	"github.com/tenonhq/tenon/host/config/opencode"
	"github.com/tenonhq/tenon/internal/lazyregexp"
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
}

// Commands returns the commands for plugins, MCP servers and permissions. installers are further commands for plugins; approve is the command
// that approves rules in the project's files.
func Commands(a *cli.App, installers []*cobra.Command, approve *cobra.Command) []*cobra.Command {
	g := &group{App: a}
	plugin := g.plugin()
	plugin.AddCommand(installers...)
	return []*cobra.Command{plugin, g.mcp(), g.auth(), g.permission(approve), g.imports()}
}

func (g *group) imports() *cobra.Command {
	cmd := &cobra.Command{Use: "import", Short: "Import the configuration of another tool"}
	cli.Group(cmd)
	for _, f := range foreignTools() {
		tool := &cobra.Command{
			Use: f.name + " [file]", Short: f.short, Long: f.long,
			RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), g.App, args, g.output) },
		}
		tool.Flags().StringVarP(&g.output, "output", "o", "", "write to this new `file` instead of stdout")
		cmd.AddCommand(tool)
	}
	return cmd
}

func foreignTools() []*foreign {
	return []*foreign{{
		name: "opencode", short: "Translate an opencode.json into a tenon.json",
		long: `Translate an opencode.json into a tenon.json and print it. The default file is opencode.json or opencode.jsonc in this
directory, or else in your configuration. Settings that cannot be translated are reported on stderr with the reason. No
file is changed; -o creates a new one. Agents, commands and skills in .opencode need no import: tenon reads them there.`,
		files: func(dir string, p sdk.Project) (out []string) {
			for _, dir := range []string{dir, filepath.Join(dir, ".opencode"), filepath.Join(filepath.Dir(p.ConfigDir), "opencode"), filepath.Join(p.Home, ".config", "opencode")} {
				out = append(out, filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc"))
			}
			return out
		},
		translate: opencode.Translate,
		others: []otherFiles{
			{"opencode", "AGENTS.md agent agents command commands mode modes skill skills", "not read there: copy it next to the file that tenon config path prints"},
			{"opencode", "plugin plugins tool tools", "not imported: tools and plugins of opencode are JavaScript and cannot run here"},
			{".opencode", "plugin plugins tool tools", "not imported: tools and plugins of opencode are JavaScript and cannot run here"},
		},
	}, {
		name: "claude", short: "Translate settings of Claude Code into a tenon.json",
		long: `Translate settings of Claude Code into a tenon.json and print it: permission rules, command hooks, the model and MCP
servers. The default file is .claude/settings.json in this directory, or else in your home directory; your MCP servers are
in ~/.claude.json, which you can pass as the file. Settings that cannot be translated are reported on stderr with the
reason. No file is changed; -o creates a new one. Skills and rules in .claude, CLAUDE.md and .mcp.json need no import:
tenon reads them there.`,
		files: func(dir string, p sdk.Project) []string {
			return []string{filepath.Join(dir, ".claude", "settings.json"), filepath.Join(p.Home, ".claude", "settings.json")}
		},
		translate: func(_ context.Context, text []byte) (*config.Translation, error) { return claude.Translate(text) },
		others: []otherFiles{
			{".claude", "agents commands", `not read there: copy it into a new directory with the file .claude-plugin/plugin.json, {"name": "mine"}, and install that with tenon plugin install`},
			{".claude", "output-styles", "not imported: write an agent with the text"},
			{".claude", "settings.local.json", "not read: pass it as the file to translate it, too"},
		},
	}}
}

// foreign is another tool whose configuration can be translated.
type foreign struct {
	name, short, long string
	files             func(directory string, p sdk.Project) []string // possible configuration files, in order
	translate         func(ctx context.Context, text []byte) (*config.Translation, error)
	others            []otherFiles
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
	notes, err := f.move(translated, filepath.Dir(file), project, output)
	if err != nil {
		return err
	}
	for _, n := range append(translated.Notes, notes...) {
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
// other files in from and in the tool's directory there.
func (f *foreign) move(translated *config.Translation, from, project, output string) (notes []config.Note, err error) {
	if from, err = filepath.Abs(from); err != nil {
		return nil, err
	}
	to, err := filepath.Abs(filepath.Dir(output))
	if err != nil {
		return nil, err
	}
	base, err := filepath.Rel(to, from)
	if err != nil || !filepath.IsLocal(base) {
		base = from
	}
	if base != "." && fileReference().Match(translated.Config) {
		quoted, err := json.Marshal(filepath.ToSlash(base))
		if err != nil {
			return nil, err
		}
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
	return notes, nil
}

// find reads the given file, else the first that exists.
func (f *foreign) find(a *cli.App, project string, args []string) (string, []byte, error) {
	candidates := args
	if len(args) == 0 {
		p, err := cli.FindDirs(a.Env, a.Flags.DataDir)
		if err != nil {
			return "", nil, err
		}
		candidates = f.files(project, p)
	}
	for _, file := range candidates {
		data, err := os.ReadFile(file)
		if err == nil {
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

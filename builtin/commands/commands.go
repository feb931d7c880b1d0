// Package commands is the plugin that contributes commands, prompt templates that users call by name:
// init and review, and those in the configuration and in Markdown files of users and repositories.
package commands

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/sdk"
)

var (
	//go:embed templates/init.md
	initTemplate string
	//go:embed templates/review.md
	reviewTemplate string
)

// Plugin is the commands plugin.
type Plugin struct {
	sources.Loader[[]sdk.Command]
}

var (
	_ sdk.Plugin        = (*Plugin)(nil)
	_ sdk.CommandSource = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin { return &Plugin{} }

// Manifest describes the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "commands", Description: "commands of tenon, the user and the project", Carrier: sdk.CarrierBuiltin}
}

// Commands returns the commands, sorted by name. Commands of the configuration replace built-in ones of the same name, and
// Markdown files replace both, the nearest file last. A file with an error is logged once, and its command is disabled.
func (p *Plugin) Commands(context.Context) ([]sdk.Command, error) { return p.Current(p.load), nil }

func (p *Plugin) load(w *sources.Watch) []sdk.Command {
	found := map[string]sdk.Command{}
	for _, c := range builtins() {
		found[c.Name] = c
	}
	for name, c := range p.Config.Command {
		found[name] = command(name, c, sdk.OriginConfiguration)
	}
	for _, folder := range sources.ConfigFolders(p.Project) {
		for _, sub := range []string{"command", "commands"} {
			leftOut := sources.Documents(w, filepath.Join(folder, sub), sources.Markdown, func(doc *sources.Document, config *sdk.CommandConfig) error {
				unknown, _ := doc.Keys(config)
				if unknown = slices.DeleteFunc(unknown, func(key string) bool { return key == "name" }); len(unknown) > 0 {
					// Commands written for other programs may have more keys. None of them changes the command's permissions.
					p.Log.Warn("unknown keys of a command are ignored", "file", doc.Path, "keys", strings.Join(unknown, ", "))
				}
				config.Template = cmp.Or(doc.Body, config.Template)
				if config.Template == "" {
					return errors.New("no text below the front matter; write the prompt there")
				}
				c := command(doc.Named(), *config, sources.Shorten(p.Project, doc.Path))
				c.Digest = doc.Digest
				found[c.Name] = c
				return nil
			})
			for _, doc := range leftOut {
				name := doc.Named()
				p.Log.Warn("command is disabled until its file is corrected", "command", name)
				found[name] = sdk.Command{Name: name, Disabled: true}
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b sdk.Command) int { return strings.Compare(a.Name, b.Name) })
}

func command(name string, c sdk.CommandConfig, origin string) sdk.Command {
	return sdk.Command{
		Name: name, Description: c.Description, Template: c.Template, Agent: c.Agent, Model: c.Model, Variant: c.Variant,
		Subtask: c.Subtask, Source: "command", Origin: origin,
	}
}

func builtins() []sdk.Command {
	return []sdk.Command{
		{Name: "init", Description: "write or improve AGENTS.md", Template: strings.TrimSpace(initTemplate), Source: "command", Origin: "built in"},
		{Name: "review", Description: "review changes: uncommitted, a commit, a branch or a pull request", Template: strings.TrimSpace(reviewTemplate), Subtask: new(true), Source: "command", Origin: "built in"},
	}
}

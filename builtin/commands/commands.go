// Package commands is the plugin that contributes commands, prompt templates that users call by name:
// init and review, those of the configuration, and those that users and repositories keep in Markdown.
package commands

import (
	"context"
	_ "embed"
	"errors"
	"log/slog"
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
	log     *slog.Logger
	project sdk.Project
	config  map[string]sdk.CommandConfig
}

var (
	_ sdk.Plugin        = (*Plugin)(nil)
	_ sdk.CommandSource = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin { return &Plugin{log: slog.New(slog.DiscardHandler)} }

// Manifest names the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "commands", Description: "commands of tenon, the user and the project", Carrier: sdk.CarrierBuiltin}
}

// Start remembers where to look. It reads nothing.
func (p *Plugin) Start(_ context.Context, h sdk.Host) error {
	p.log, p.project = h.Logger(), h.Project()
	if c, ok := h.(sdk.ConfigReader); ok && c.Config() != nil {
		p.config = c.Config().Command
	}
	return nil
}

// Close does nothing: nothing runs between calls.
func (*Plugin) Close(context.Context) error { return nil }

// Commands returns the commands, sorted by name. A command of the configuration replaces one of tenon,
// and one in Markdown either, the nearest file last. A file that cannot be read is reported and left out.
func (p *Plugin) Commands(context.Context) ([]sdk.Command, error) {
	found := map[string]sdk.Command{}
	add := func(c sdk.Command) {
		if was, ok := found[c.Name]; ok {
			c.Replaces = sources.Replacing(was.Origin, was.Replaces)
		}
		found[c.Name] = c
	}
	for _, c := range builtins() {
		add(c)
	}
	for name, c := range p.config {
		add(command(name, c, "configuration"))
	}
	watch := sources.NewWatch(p.project, p.log)
	for _, folder := range sources.ConfigFolders(p.project) {
		for _, sub := range []string{"command", "commands"} {
			dir := filepath.Join(folder, sub)
			for _, path := range watch.Tree(dir, sources.Markdown) {
				c, err := p.read(&watch, dir, path)
				if err != nil {
					p.log.Warn("command left out", "file", path, "err", err)
					continue
				}
				add(c)
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b sdk.Command) int { return strings.Compare(a.Name, b.Name) }), nil
}

func (p *Plugin) read(watch *sources.Watch, dir, path string) (sdk.Command, error) {
	var config sdk.CommandConfig
	doc, err := watch.Document(path, &config)
	if err != nil {
		return sdk.Command{}, err
	}
	if unknown, _ := doc.Keys(&config); len(unknown) > 0 {
		// Commands written for other programs hold more; none of it changes what the command may do.
		p.log.Warn("keys of a command are not read", "file", path, "keys", strings.Join(unknown, ", "))
	}
	if doc.Body != "" {
		config.Template = doc.Body
	}
	if config.Template == "" {
		return sdk.Command{}, errors.New("there is no text below the front matter; write the prompt there")
	}
	name, err := sources.Name(dir, path)
	if err != nil {
		return sdk.Command{}, err
	}
	return command(name, config, sources.Shorten(p.project, path)), nil
}

func command(name string, c sdk.CommandConfig, origin string) sdk.Command {
	return sdk.Command{
		Name: name, Description: c.Description, Template: c.Template, Agent: c.Agent, Model: c.Model, Variant: c.Variant,
		Subtask: c.Subtask, Source: "command", Origin: origin,
	}
}

func builtins() []sdk.Command {
	subtask := true
	return []sdk.Command{
		{Name: "init", Description: "write or improve AGENTS.md", Template: strings.TrimSpace(initTemplate), Source: "command", Origin: "built in"},
		{Name: "review", Description: "review changes: uncommitted, a commit, a branch or a pull request", Template: strings.TrimSpace(reviewTemplate), Subtask: &subtask, Source: "command", Origin: "built in"},
	}
}

package agents

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/frontmatter"
	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/sdk"
)

// folders are those of a configuration folder that hold agents, and the mode that an agent has which names none. The last two are
// opencode's older place of primary agents.
var folders = []struct{ name, mode string }{
	{"agent", sdk.ModeAll}, {"agents", sdk.ModeAll}, {"mode", sdk.ModePrimary}, {"modes", sdk.ModePrimary},
}

// load adds the agents of all folders to the list. A file that names an agent of the list changes it.
func (p *Plugin) load(list []sdk.Agent) []sdk.Agent {
	for _, folder := range sources.ConfigFolders(p.project) {
		for _, sub := range folders {
			dir := filepath.Join(folder, sub.name)
			for _, path := range p.watch.Tree(dir, sources.Markdown) {
				if err := p.add(&list, dir, path, sub.mode); err != nil {
					p.log.Warn("agent left out", "file", path, "err", err)
				}
			}
		}
	}
	return list
}

func (p *Plugin) add(list *[]sdk.Agent, dir, path, mode string) error {
	var config sdk.AgentConfig
	doc, err := p.watch.Document(path, &config)
	if err != nil {
		return err
	}
	if err := check(doc, &config); err != nil {
		return err
	}
	name, err := sources.Name(dir, path)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(*list, func(a sdk.Agent) bool { return a.Name == name })
	switch {
	case config.Disable && i >= 0:
		*list = slices.Delete(*list, i, i+1)
		return nil
	case config.Disable:
		return nil
	case i < 0:
		*list = append(*list, sdk.Agent{Name: name, Mode: mode})
		i = len(*list) - 1
	}
	a := &(*list)[i]
	if a.Origin != "" {
		a.Replaces = sources.Replacing(a.Origin, a.Replaces)
	}
	own := a.Permission
	*a = apply(*a, &config, doc.Body)
	a.Origin = sources.Shorten(p.project, path)
	// Rules name their file so that nobody mistakes it: a repository's may have to wait until the user approved it.
	more := slices.Concat(toolRules(config.Tools, path), withOrigin(config.Permission, path))
	if a.Permission = slices.Concat(own, more); a.Strict && !sources.Users(p.project, path) {
		a.Permission = slices.Concat(more, own) // a repository lifts nothing of what a strict agent denies
	}
	return nil
}

// check refuses what the types do not.
func check(doc *frontmatter.Document, config *sdk.AgentConfig) error {
	unknown, known := doc.Keys(config)
	for _, key := range unknown {
		// Files of other programs name the agent inside too; here its path does.
		if key != "name" {
			return fmt.Errorf("%w: key %q is unknown; the keys are %s (what belongs into the request to the model stands under options)",
				frontmatter.ErrFrontMatter, key, strings.Join(known, ", "))
		}
	}
	switch config.Mode {
	case "", sdk.ModePrimary, sdk.ModeSubagent, sdk.ModeAll:
	default:
		return fmt.Errorf("%w: key \"mode\": want primary, subagent or all, have %q", frontmatter.ErrFrontMatter, config.Mode)
	}
	if config.Model != "" && !strings.Contains(config.Model, "/") {
		return fmt.Errorf("%w: key \"model\": want provider/model, have %q", frontmatter.ErrFrontMatter, config.Model)
	}
	return nil
}

// apply changes the agent by what the file sets, but for its rules.
func apply(a sdk.Agent, c *sdk.AgentConfig, prompt string) sdk.Agent {
	set := func(field *string, value string) {
		if value != "" {
			*field = value
		}
	}
	set(&a.Description, c.Description)
	set(&a.Mode, c.Mode)
	set(&a.Variant, c.Variant)
	set(&a.Color, c.Color)
	set(&a.Prompt, c.Prompt)
	set(&a.Prompt, prompt)
	if provider, model, ok := strings.Cut(c.Model, "/"); ok {
		a.Model = &sdk.ModelRef{ProviderID: provider, ModelID: model}
	}
	if c.Temperature != nil {
		a.Temperature = c.Temperature
	}
	if c.TopP != nil {
		a.TopP = c.TopP
	}
	if c.Hidden != nil {
		a.Hidden = *c.Hidden
	}
	if steps := max(c.Steps, c.MaxSteps); steps > 0 {
		a.Steps = steps
	}
	if len(c.Options) > 0 {
		options := a.Options.Clone()
		if options == nil {
			options = sdk.Object{}
		}
		maps.Copy(options, c.Options)
		a.Options = options
	}
	return a
}

// toolRules turns the older form, a switch for each tool, into rules.
func toolRules(tools map[string]bool, origin string) sdk.PermissionRules {
	var out sdk.PermissionRules
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		rule := sdk.PermissionRule{Permission: name, Pattern: "*", Action: sdk.ActionDeny, Origin: origin}
		if tools[name] {
			rule.Action = sdk.ActionAllow
		}
		switch name {
		case "write", "patch", "apply_patch":
			rule.Permission = "edit"
		}
		out = append(out, rule)
	}
	return out
}

func withOrigin(rules sdk.PermissionRules, origin string) sdk.PermissionRules {
	for i := range rules {
		if rules[i].Origin == "" {
			rules[i].Origin = origin
		}
	}
	return rules
}

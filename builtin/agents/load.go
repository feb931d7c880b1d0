package agents

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/frontmatter"
	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/sdk"
)

// maxFile bounds an agent's file in bytes.
const maxFile = 256 << 10

// load adds the agents of all folders to the list. A file that names an agent of the list changes it.
func (p *Plugin) load(list []sdk.Agent) []sdk.Agent {
	for _, folder := range sources.ConfigFolders(p.project) {
		for _, sub := range []string{"agent", "agents"} {
			dir := filepath.Join(folder, sub)
			for _, path := range p.watch.Tree(dir, sources.Markdown) {
				if err := p.add(&list, dir, path); err != nil {
					p.log.Warn("agent left out", "file", path, "err", err)
				}
			}
		}
	}
	return list
}

func (p *Plugin) add(list *[]sdk.Agent, dir, path string) error {
	data, cut, err := p.watch.ReadFile(path, maxFile)
	if err != nil {
		return err
	}
	if cut {
		return fmt.Errorf("larger than %d bytes", maxFile)
	}
	doc, err := frontmatter.Parse(data)
	if err != nil {
		return err
	}
	var config sdk.AgentConfig
	if err := doc.Decode(&config); err != nil {
		return err
	}
	if err := check(doc, &config); err != nil {
		return err
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	name := filepath.ToSlash(strings.TrimSuffix(rel, filepath.Ext(rel)))
	i := slices.IndexFunc(*list, func(a sdk.Agent) bool { return a.Name == name })
	switch {
	case config.Disable && i >= 0:
		*list = slices.Delete(*list, i, i+1)
	case config.Disable:
	case i >= 0:
		(*list)[i] = apply((*list)[i], &config, doc.Body, sources.Shorten(p.project, path))
	default:
		*list = append(*list, apply(sdk.Agent{Name: name, Mode: sdk.ModeAll}, &config, doc.Body, sources.Shorten(p.project, path)))
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

// apply changes the agent by what the file sets.
func apply(a sdk.Agent, c *sdk.AgentConfig, prompt, origin string) sdk.Agent {
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
	a.Origin = origin
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
	a.Permission = slices.Concat(a.Permission, toolRules(c.Tools, origin), withOrigin(c.Permission, origin))
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

// Package skills is the plugin that finds skills, folders with a SKILL.md, and lists them for the model.
package skills

import (
	"context"
	"slices"

	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin is the skills plugin.
type Plugin struct {
	sources.Loader[found]
	rules sdk.RuleReader // nil if the host has none
}

type found struct {
	skills []sdk.Skill // sorted by name
	list   string      // the list for the model; empty without skills
}

var (
	_ sdk.Plugin      = (*Plugin)(nil)
	_ sdk.SkillSource = (*Plugin)(nil)
	_ sdk.Hooker      = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin { return &Plugin{} }

// Manifest describes the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "skills", Description: "skills of the user and the project", Carrier: sdk.CarrierBuiltin}
}

// Start stores the host's project and configuration. It reads no files.
func (p *Plugin) Start(ctx context.Context, h sdk.Host) error {
	if err := p.Loader.Start(ctx, h); err != nil {
		return err
	}
	p.rules, _ = h.(sdk.RuleReader)
	if len(p.Config.Skills.URLs) > 0 {
		p.Log.Warn("skills.urls is not supported: save the skills in a folder and add it to skills.paths")
	}
	return nil
}

// Skills returns the skills, sorted by name. It rereads the folders if something in them has changed. A skill with an error is
// logged once and skipped.
func (p *Plugin) Skills(context.Context) ([]sdk.Skill, error) { return p.Current(p.load).skills, nil }

// Hooks returns the hook that lists the skills in the system prompt.
func (p *Plugin) Hooks() []sdk.Hook {
	return []sdk.Hook{sources.SystemHook("list", func(in *sdk.ChatInput) string { return p.listFor(in.SessionID) })}
}

// listFor returns the list for the model of a session: the skills that the session's rules do not deny.
func (p *Plugin) listFor(session string) string {
	found := p.Current(p.load)
	denied := func(s sdk.Skill) bool { return p.rules != nil && p.rules.Denies(session, "skill", s.Name) }
	if !slices.ContainsFunc(found.skills, denied) {
		return found.list
	}
	return describe(slices.DeleteFunc(slices.Clone(found.skills), denied))
}

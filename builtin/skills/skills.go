// Package skills is the plugin that finds skills, folders with a SKILL.md, and tells the model of them.
package skills

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin is the skills plugin.
type Plugin struct {
	log     *slog.Logger
	project sdk.Project
	config  sdk.SkillsConfig
	rules   sdk.RuleReader // nil where the host has none

	mu     sync.Mutex
	watch  sources.Watch
	skills []sdk.Skill // by name; never changed
	list   string      // what the model is told; empty without skills
}

var (
	_ sdk.Plugin      = (*Plugin)(nil)
	_ sdk.SkillSource = (*Plugin)(nil)
	_ sdk.Hooker      = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin { return &Plugin{log: slog.New(slog.DiscardHandler)} }

// Manifest names the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "skills", Description: "skills of the user and the project", Carrier: sdk.CarrierBuiltin}
}

// Start remembers where to look. It reads nothing.
func (p *Plugin) Start(_ context.Context, h sdk.Host) error {
	p.log, p.project = h.Logger(), h.Project()
	p.watch = sources.NewWatch(p.project, p.log)
	if c, ok := h.(sdk.ConfigReader); ok && c.Config() != nil {
		p.config = c.Config().Skills
	}
	p.rules, _ = h.(sdk.RuleReader)
	if len(p.config.URLs) > 0 {
		p.log.Warn("skills.urls is not read: skills are not fetched; save them in a folder and name it in skills.paths")
	}
	return nil
}

// Close does nothing: nothing runs between calls.
func (*Plugin) Close(context.Context) error { return nil }

// Skills returns the skills, sorted by name. Folders are read again when something in them changed. A
// skill that cannot be read is reported once and left out.
func (p *Plugin) Skills(context.Context) ([]sdk.Skill, error) {
	skills, _ := p.current()
	return skills, nil
}

// Hooks returns the hook that lists the skills in the system prompt.
func (p *Plugin) Hooks() []sdk.Hook {
	h := sdk.OnChatSystem(func(_ context.Context, in *sdk.ChatInput, v *sdk.ChatSystemValue) error {
		if in.Purpose != sdk.PurposeTurn && in.Purpose != sdk.PurposeSubtask {
			return nil
		}
		if list := p.listFor(in.SessionID); list != "" {
			v.System = append(v.System, list)
		}
		return nil
	})
	h.Name = "list"
	h.Reads, h.Writes = []string{"/system"}, []string{"/system"}
	return []sdk.Hook{h}
}

// listFor returns what the model of a session is told: the skills that its rules do not deny.
func (p *Plugin) listFor(session string) string {
	skills, list := p.current()
	if p.rules == nil {
		return list
	}
	denied := func(s sdk.Skill) bool { return p.rules.Denies(session, "skill", s.Name) }
	if !slices.ContainsFunc(skills, denied) {
		return list
	}
	return describe(slices.DeleteFunc(slices.Clone(skills), denied))
}

func (p *Plugin) current() ([]sdk.Skill, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.watch.Fresh() {
		p.watch.Reset()
		p.skills = p.load()
		p.list = describe(p.skills)
	}
	return p.skills, p.list
}

package generation

import (
	"context"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Command is a command and the plugin that contributes it.
type Command struct {
	sdk.Command
	Plugin string  `json:"plugin"`
	Owner  *Plugin `json:"-"` // the plugin itself
}

// SkillInfo is a skill and the plugin that contributes it.
type SkillInfo struct {
	sdk.Skill
	Plugin string `json:"plugin"`
}

// Commands lists the commands of all plugins; a later plugin's replaces an earlier one of the same name, but one of a third-party plugin only
// skills and those of others, see yields.
func (g *Set) Commands(ctx context.Context) []Command {
	var out []Command
	each(ctx, g, "commands", sdk.CommandSource.Commands, func(p *Plugin, one sdk.Command) {
		i := slices.IndexFunc(out, func(o Command) bool {
			return o.Owner.Builtin() && o.Source != "skill" && strings.EqualFold(o.Name, one.Name)
		})
		if i < 0 || !p.yields("command", one.Name, out[i].Plugin) {
			out = replace(out, Command{Command: one, Plugin: p.Manifest.Name, Owner: p}, func(o Command) bool { return o.Name == one.Name })
		}
	})
	return slices.DeleteFunc(out, func(c Command) bool { return c.Disabled })
}

// ChoosesCommandModel reports whether files of the repository may have named the model of a command.
func (g *Set) ChoosesCommandModel(c *sdk.Command) bool {
	return g.r.fromProject(c.Origin) || g.own != nil && g.own.Command[c.Name].Model != g.Config.Command[c.Name].Model
}

// builtinCommands returns the commands of compiled-in plugins, which include the repository's. Other plugins are not asked: they may take
// long, and their commands are not the repository's.
func (g *Set) builtinCommands(ctx context.Context) []sdk.Command {
	var out []sdk.Command
	for _, source := range compiledIn[sdk.CommandSource](g) {
		list, _ := source.Commands(ctx) // an error is reported where commands are used
		out = append(out, list...)
	}
	return out
}

// Skills lists the skills of all plugins; a later plugin's replaces an earlier one of the same name.
func (g *Set) Skills(ctx context.Context) []SkillInfo {
	var out []SkillInfo
	each(ctx, g, "skills", sdk.SkillSource.Skills, func(p *Plugin, s sdk.Skill) {
		out = replace(out, SkillInfo{s, p.Manifest.Name}, func(o SkillInfo) bool { return o.Name == s.Name })
	})
	return out
}

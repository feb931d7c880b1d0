package generation

import (
	"context"

	"github.com/tenonhq/tenon/sdk"
)

// ChoosesAgentModel reports whether files of the repository may have named the model of an agent.
func (g *Set) ChoosesAgentModel(a *sdk.Agent) bool {
	return g.r.fromProject(a.Origin) || g.own != nil && g.own.Agent[a.Name].Model != g.Config.Agent[a.Name].Model
}

// ChoosesCommandModel reports whether files of the repository may have named the model of a command.
func (g *Set) ChoosesCommandModel(c *sdk.Command) bool {
	return g.r.fromProject(c.Origin) || g.own != nil && g.own.Command[c.Name].Model != g.Config.Command[c.Name].Model
}

func (r *Registry) fromProject(origin string) bool {
	return r.o.FromProject != nil && r.o.FromProject(origin)
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

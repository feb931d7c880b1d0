// Package builtin lists the plugins that are compiled into tenon. They use sdk alone, as any plugin does.
package builtin

import (
	"github.com/tenonhq/tenon/builtin/agents"
	"github.com/tenonhq/tenon/builtin/commands"
	"github.com/tenonhq/tenon/builtin/instructions"
	"github.com/tenonhq/tenon/builtin/providers/catalog"
	"github.com/tenonhq/tenon/builtin/providers/offline"
	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/builtin/skills"
	"github.com/tenonhq/tenon/builtin/tools/files"
	"github.com/tenonhq/tenon/builtin/tools/interact"
	"github.com/tenonhq/tenon/builtin/tools/search"
	"github.com/tenonhq/tenon/builtin/tools/shell"
	"github.com/tenonhq/tenon/builtin/tools/web"
	"github.com/tenonhq/tenon/sdk"
)

// All returns the plugins that come with tenon, each new and not started. The order is that of their
// hooks and contributions: providers and tools; agents, whose hook reminds of the mode; instructions, then
// skills, which follow each other so in the system prompt; commands.
func All() []sdk.Plugin {
	return []sdk.Plugin{
		openai.New(), catalog.New(), offline.New(),
		files.New(), search.New(), shell.New(), web.New(), interact.New(),
		agents.New(), instructions.New(), skills.New(), commands.New(),
	}
}

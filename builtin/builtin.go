// Package builtin lists the plugins that are compiled into tenon. They use only sdk, like any plugin.
package builtin

import (
	"github.com/tenonhq/tenon/builtin/agents"
	"github.com/tenonhq/tenon/builtin/commands"
	"github.com/tenonhq/tenon/builtin/instructions"
	"github.com/tenonhq/tenon/builtin/providers/anthropic"
	"github.com/tenonhq/tenon/builtin/providers/bedrock"
	"github.com/tenonhq/tenon/builtin/providers/catalog"
	"github.com/tenonhq/tenon/builtin/providers/gemini"
	"github.com/tenonhq/tenon/builtin/providers/offline"
	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/builtin/providers/signin"
	"github.com/tenonhq/tenon/builtin/skills"
	"github.com/tenonhq/tenon/builtin/tools/files"
	"github.com/tenonhq/tenon/builtin/tools/interact"
	"github.com/tenonhq/tenon/builtin/tools/search"
	"github.com/tenonhq/tenon/builtin/tools/shell"
	"github.com/tenonhq/tenon/builtin/tools/web"
	"github.com/tenonhq/tenon/sdk"
)

// All returns new instances of the built-in plugins, not started. The order determines the order of hooks
// and contributions: providers and tools; agents, whose hook reminds the model of its mode; instructions,
// then skills, in the order of the system prompt; commands.
func All() []sdk.Plugin {
	return []sdk.Plugin{
		openai.New(), anthropic.New(), gemini.New(), bedrock.New(), catalog.New(), offline.New(), signin.New(),
		files.New(), search.New(), shell.New(), web.New(), interact.New(),
		agents.New(), instructions.New(), skills.New(), commands.New(),
	}
}

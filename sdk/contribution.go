package sdk

import "context"

// Hooker contributes hooks. Called once, after Start.
type Hooker interface{ Hooks() []Hook }

// ToolSource contributes tools. Called at every step; it must not block.
type ToolSource interface{ Tools() []Tool }

// ProtocolSource contributes wire protocols. Called once, after Start.
type ProtocolSource interface{ Protocols() []Protocol }

// ProviderSource contributes descriptions of providers and their models. Called once, after Start.
type ProviderSource interface{ Providers() []ProviderInfo }

// AgentSource contributes agents. Called at every turn; it must not block.
type AgentSource interface{ Agents() []Agent }

// PromptSource contributes the system prompt of agents without one, by model. Only plugins that are compiled in can have it.
type PromptSource interface{ SystemPrompt(m *Model) string }

// CommandSource contributes commands. Called when a prompt names a command.
type CommandSource interface {
	Commands(ctx context.Context) ([]Command, error)
}

// SkillSource contributes skills. Called at every turn and by the skill tool.
type SkillSource interface {
	Skills(ctx context.Context) ([]Skill, error)
}

// ReferenceSource resolves an @name in a prompt that is neither a file nor an agent, such as @server:uri of an MCP server. found is
// false if the plugin does not know the name. A call may block while it reads the resource.
type ReferenceSource interface {
	Reference(ctx context.Context, name string) (parts Parts, found bool, err error)
}

// CommandRenderer renders the prompt of a command of this plugin that its template alone does not define.
type CommandRenderer interface {
	RenderCommand(ctx context.Context, name, arguments string) (Parts, error)
}

// CommandCompleter suggests the last word of the arguments of a command of this plugin. A suggestion replaces the whole word. With the name
// @, the arguments are a mention, such as @server:res, that a ReferenceSource may resolve once it is complete.
type CommandCompleter interface {
	CompleteCommand(ctx context.Context, name, arguments string) ([]string, error)
}

// Agent is a named set of prompt, model and permissions.
type Agent struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Mode        string    `json:"mode"` // one of the Mode constants
	Hidden      bool      `json:"hidden,omitempty"`
	Model       *ModelRef `json:"model,omitempty"` // default: the session's
	Variant     string    `json:"variant,omitempty"`
	Prompt      string    `json:"prompt,omitempty"` // default: the prompt of AgentBuild, else of a PromptSource
	Temperature *float64  `json:"temperature,omitempty"`
	TopP        *float64  `json:"top_p,omitempty"`
	Steps       int       `json:"steps,omitempty"` // maximum steps of a turn; 0: no limit
	Options     Object    `json:"options,omitempty"`
	Color       string    `json:"color,omitempty"`
	// Permission comes after the default rules and before the user's rules. The user's rules for all agents do not override its deny and
	// ask rules; those for this agent do.
	Permission PermissionRules `json:"permission,omitempty"`
	// Strict is set if only the user's rules for this agent override the deny and ask rules of Permission. Stored approvals, hooks and
	// flags then do not answer for the user.
	Strict bool   `json:"strict,omitempty"`
	Origin string `json:"origin,omitempty"` // place of the definition, human-readable
	// Disabled is set if the configuration removes the agent, or its file has a mistake. It stays in the list of its plugin, so that no other agent takes its name without its rules.
	Disabled bool `json:"-"`
}

// OriginConfiguration is the Origin of agents and commands that the configuration defines.
const OriginConfiguration = "configuration"

// Modes of agents.
const (
	ModePrimary  = "primary"  // the user talks to it
	ModeSubagent = "subagent" // the task tool runs it
	ModeAll      = "all"
)

// Names of the agents that the host itself uses. A plugin contributes them.
const (
	AgentBuild      = "build"
	AgentPlan       = "plan" // changes nothing; users switch between it and AgentBuild
	AgentTitle      = "title"
	AgentCompaction = "compaction"
)

// Command is a prompt template that users call by name.
type Command struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Template    string `json:"template"`
	Agent       string `json:"agent,omitempty"`
	Model       string `json:"model,omitempty"` // provider/model
	Variant     string `json:"variant,omitempty"`
	Subtask     *bool  `json:"subtask,omitempty"`
	Source      string `json:"source,omitempty"` // command, mcp or skill
	Origin      string `json:"origin,omitempty"` // place of the definition, human-readable
	// Digest is the SHA-256 of the file of Origin as it was read, in hexadecimal; empty if unknown.
	Digest string `json:"-"`
	// Disabled is set if the file of the command has a mistake. It stays in the list of its plugin, so that no other command takes its name.
	Disabled bool `json:"-"`
}

// Skill is a set of instructions that the model loads on demand.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Location    string `json:"location"` // the SKILL.md, absolute
	Body        string `json:"-"`        // without the front matter
	// Manual skills are not listed for the model. It can load one whose name it knows, such as from the user.
	Manual bool `json:"manual,omitempty"`
}

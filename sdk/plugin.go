package sdk

import (
	"context"
	"encoding/json"
	"log/slog"
)

// Plugin is what extends the host. Everything but Manifest, Start and Close is optional: the host asks
// by type assertion for the interfaces below.
//
// Order of calls: Manifest; Start once; the contributions, as often as the host likes and from many
// goroutines; Close.
type Plugin interface {
	Manifest() Manifest
	// Start makes the plugin ready. ctx bounds starting only; work in the background ends in Close.
	Start(ctx context.Context, h Host) error
	// Close ends the plugin. It is safe without Start and safe twice; nothing runs after it returned.
	Close(ctx context.Context) error
}

// Host is what the host gives every plugin. Further abilities are separate interfaces that a plugin
// asserts.
type Host interface {
	Logger() *slog.Logger // carries the plugin's name
	Project() Project
	// Options is the plugin's own part of the configuration, an object; null when there is none.
	Options() json.RawMessage
}

// ConfigReader gives a plugin the merged configuration without its secrets. The result must not be changed.
type ConfigReader interface {
	Config() *Config
}

// RuleReader tells a compiled-in plugin whether the permission rules of a session with a running turn deny something. No other
// plugin is given it.
type RuleReader interface {
	Denies(sessionID, permission, pattern string) bool
}

// Project says where the host works. All paths are absolute.
type Project struct {
	ID        string // the root commit of the git repository, or "global"
	Directory string // where tenon was started
	Worktree  string // the root of the repository, or Directory without one
	Home      string // the user's home directory
	ConfigDir string // the user's configuration directory of tenon
	DataDir   string // where tenon keeps its data
	CacheDir  string // where tenon keeps what it can make again
	Git       bool   // Worktree is a git repository
}

// Hooker contributes hooks. Asked once, after Start.
type Hooker interface{ Hooks() []Hook }

// ToolSource contributes tools. Asked at every step; it must not block.
type ToolSource interface{ Tools() []Tool }

// ProtocolSource contributes wire protocols. Asked once, after Start.
type ProtocolSource interface{ Protocols() []Protocol }

// ProviderSource contributes providers and their models: data, no connection. Asked once, after Start.
type ProviderSource interface{ Providers() []ProviderInfo }

// AgentSource contributes agents. Asked at every turn; it must not block.
type AgentSource interface{ Agents() []Agent }

// CommandSource contributes commands. Asked when a command is named.
type CommandSource interface {
	Commands(ctx context.Context) ([]Command, error)
}

// SkillSource contributes skills. Asked at every turn and by the skill tool.
type SkillSource interface {
	Skills(ctx context.Context) ([]Skill, error)
}

// Agent is a named set of prompt, model and permissions.
type Agent struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Mode        string    `json:"mode"` // one of the Mode constants
	Hidden      bool      `json:"hidden,omitempty"`
	Model       *ModelRef `json:"model,omitempty"` // default: the session's
	Variant     string    `json:"variant,omitempty"`
	Prompt      string    `json:"prompt,omitempty"` // replaces the default system prompt
	Temperature *float64  `json:"temperature,omitempty"`
	TopP        *float64  `json:"top_p,omitempty"`
	Steps       int       `json:"steps,omitempty"` // most steps of a turn; 0: no limit
	Options     Object    `json:"options,omitempty"`
	Color       string    `json:"color,omitempty"`
	// Permission comes after the defaults and before the user's rules, which do not lift what it denies or asks for; those for
	// this agent do.
	Permission PermissionRules `json:"permission,omitempty"`
	// Strict is set where what Permission denies or asks for holds against everything but the user's rules for this agent: no stored
	// approval, hook or flag answers then, the user does.
	Strict bool   `json:"strict,omitempty"`
	Origin string `json:"origin,omitempty"` // where it was defined, for people
	// Replaces holds where definitions of the same name stand that this one replaces or changes, the last replaced first.
	Replaces []string `json:"replaces,omitempty"`
}

// Modes of agents.
const (
	ModePrimary  = "primary"  // the user talks to it
	ModeSubagent = "subagent" // the task tool runs it
	ModeAll      = "all"
)

// Names of the agents the host itself asks for. A plugin contributes them.
const (
	AgentBuild      = "build"
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
	Origin      string `json:"origin,omitempty"` // where it was defined, for people
	// Replaces holds where definitions of the same name stand that this one replaces, the last replaced first.
	Replaces []string `json:"replaces,omitempty"`
}

// Skill is a set of instructions that the model loads when it needs them.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Location    string `json:"location"` // the SKILL.md, absolute
	Body        string `json:"-"`        // without the front matter
	// Replaces holds where definitions of the same name stand that this one replaces, the last replaced first.
	Replaces []string `json:"replaces,omitempty"`
}

package sdk

import (
	"encoding/json"

	"github.com/tenonhq/tenon/internal/value"
)

// Config is the merged configuration. Keys that opencode has keep its name and meaning.
type Config struct {
	Schema            string                    `json:"$schema,omitempty"`            // a JSON schema for editors; tenon config schema prints it
	Model             string                    `json:"model,omitempty"`              // provider/model
	SmallModel        string                    `json:"small_model,omitempty"`        // for titles
	DefaultAgent      string                    `json:"default_agent,omitempty"`      // agent of sessions that name none; default build
	Username          string                    `json:"username,omitempty"`           // how the user is called
	Shell             string                    `json:"shell,omitempty"`              // runs commands; default: bash, else sh
	Sandbox           SandboxConfig             `json:"sandbox,omitzero"`             // what confined commands may read and write; false switches it off
	LogLevel          string                    `json:"logLevel,omitempty"`           // debug, info, warn or error
	Provider          map[string]ProviderConfig `json:"provider,omitempty"`           // by identifier: providers that are added, or changed
	DisabledProviders []string                  `json:"disabled_providers,omitempty"` // not these
	EnabledProviders  []string                  `json:"enabled_providers,omitempty"`  // none but these
	Agent             map[string]AgentConfig    `json:"agent,omitempty"`              // by name: agents that are added, or changed
	Command           map[string]CommandConfig  `json:"command,omitempty"`            // by name: commands that are added
	Skills            SkillsConfig              `json:"skills,omitzero"`              // further places of skills
	Instructions      []string                  `json:"instructions,omitempty"`       // paths and globs of files added to the system prompt
	Permission        PermissionRules           `json:"permission,omitempty"`         // what tools may do: by permission and pattern allow, ask or deny; the last rule that matches decides
	Tools             map[string]bool           `json:"tools,omitempty"`              // older form of permission
	MCP               map[string]MCPConfig      `json:"mcp,omitempty"`                // by name: MCP servers
	Plugins           []PluginConfig            `json:"plugins,omitempty"`            // paths and names of plugins, alone or with options
	Hooks             json.RawMessage           `json:"hooks,omitempty"`              // command hooks
	HookConfig        map[string]HookOverride   `json:"hook,omitempty"`               // per plugin: what overrides its manifest
	Snapshot          *bool                     `json:"snapshot,omitempty"`           // default true
	SubagentDepth     *int                      `json:"subagent_depth,omitempty"`     // how deep subagents may nest; default 1
	ToolOutput        ToolOutputConfig          `json:"tool_output,omitzero"`         // bounds of a tool's output in the conversation
	ToolSearch        ToolSearchConfig          `json:"tool_search,omitzero"`         // when tools of plugins hide
	Compaction        CompactionConfig          `json:"compaction,omitzero"`          // when and how a conversation is summarised
	Retry             RetryConfig               `json:"retry,omitzero"`               // bounds of the retries of a model request
	Experimental      ExperimentalConfig        `json:"experimental,omitzero"`        // switches that may change
}

// ProviderConfig adds a provider or extends one of the catalog.
type ProviderConfig struct {
	Name      string                 `json:"name,omitempty"`      // for people; default: the identifier
	Protocol  string                 `json:"protocol,omitempty"`  // openai-chat, openai-responses, …
	NPM       string                 `json:"npm,omitempty"`       // read as a protocol name; nothing is installed
	API       string                 `json:"api,omitempty"`       // older name of options.baseURL
	Env       []string               `json:"env,omitempty"`       // variables that may hold the key
	Options   ProviderOptions        `json:"options,omitzero"`    // how to reach it
	Whitelist []string               `json:"whitelist,omitempty"` // none but these models
	Blacklist []string               `json:"blacklist,omitempty"` // not these models
	Models    map[string]ModelConfig `json:"models,omitempty"`    // by identifier: models that are added, or changed
}

// ProviderOptions say how to reach a provider.
type ProviderOptions struct {
	APIKey  string            `json:"apiKey,omitempty"`  // the key; better {env:NAME} or {file:path} than the key itself
	BaseURL string            `json:"baseURL,omitempty"` // where the API is, such as http://localhost:11434/v1
	Headers map[string]string `json:"headers,omitempty"` // further headers of each request
	// Timeout bounds the wait for each piece of an answer, in milliseconds; false or 0 switches it off.
	// Default: DefaultIdleTimeout.
	Timeout json.RawMessage `json:"timeout,omitempty"`
	// ChunkTimeout and HeaderTimeout are opencode's finer forms, in milliseconds. The host reads two more from Extra: answerTimeout, the
	// longest time without a piece of the answer (default: three times the longer of the two), and totalTimeout, for the whole
	// answer (default: two hours).
	ChunkTimeout  int64 `json:"chunkTimeout,omitempty"`
	HeaderTimeout int64 `json:"headerTimeout,omitempty"` // milliseconds
	SetCacheKey   bool  `json:"setCacheKey,omitempty"`   // send a key under which the server may cache the prompt
	// Extra holds what else the protocol understands.
	Extra Extra `json:"-"`
}

// ModelConfig adds a model or changes fields of a known one; what is not set stays as it was.
type ModelConfig struct {
	ID          string            `json:"id,omitempty"`          // the name the server knows; default: the key
	Name        string            `json:"name,omitempty"`        // for people
	Limit       *ModelLimit       `json:"limit,omitempty"`       // how much the model takes and gives
	Cost        *ModelCost        `json:"cost,omitempty"`        // in dollars per million tokens
	Reasoning   *bool             `json:"reasoning,omitempty"`   // it can reason
	Temperature *bool             `json:"temperature,omitempty"` // it takes a temperature
	ToolCall    *bool             `json:"tool_call,omitempty"`   // it can call tools
	Attachment  *bool             `json:"attachment,omitempty"`  // it takes files
	Modalities  *Modalities       `json:"modalities,omitempty"`  // what it takes and gives
	Status      string            `json:"status,omitempty"`      // such as beta or deprecated, for people
	Options     Object            `json:"options,omitempty"`     // further fields of each request
	Headers     map[string]string `json:"headers,omitempty"`     // further headers of each request
	Variants    map[string]Object `json:"variants,omitempty"`    // by name: options of a variant
}

// AgentConfig adds an agent or changes one.
type AgentConfig struct {
	Model       string          `json:"model,omitempty"`       // provider/model; default: that of the session
	Variant     string          `json:"variant,omitempty"`     // variant of the model
	Temperature *float64        `json:"temperature,omitempty"` // of its requests
	TopP        *float64        `json:"top_p,omitempty"`       // of its requests
	Prompt      string          `json:"prompt,omitempty"`      // its system prompt
	Description string          `json:"description,omitempty"` // when to use it, for people and for the model
	Mode        string          `json:"mode,omitempty"`        // primary, subagent or all
	Hidden      *bool           `json:"hidden,omitempty"`      // not offered
	Color       string          `json:"color,omitempty"`       // for interfaces
	Steps       int             `json:"steps,omitempty"`       // how many steps a turn may have; 0: no bound
	MaxSteps    int             `json:"maxSteps,omitempty"`    // older name of steps
	Options     Object          `json:"options,omitempty"`     // further fields of its requests
	Permission  PermissionRules `json:"permission,omitempty"`  // its own rules, behind those for all
	Tools       map[string]bool `json:"tools,omitempty"`       // older form of permission
	Disable     bool            `json:"disable,omitempty"`     // take it away
}

// CommandConfig adds a command.
type CommandConfig struct {
	Template    string `json:"template"`              // the prompt; $ARGUMENTS, $1, @file and !`command` are replaced
	Description string `json:"description,omitempty"` // what it does, for people
	Agent       string `json:"agent,omitempty"`       // agent that it runs with
	Model       string `json:"model,omitempty"`       // provider/model that it runs with
	Variant     string `json:"variant,omitempty"`     // variant of the model
	Subtask     *bool  `json:"subtask,omitempty"`     // run it in a subagent
}

// SkillsConfig names further places of skills.
type SkillsConfig struct {
	Paths []string `json:"paths,omitempty"` // folders of skills
	URLs  []string `json:"urls,omitempty"`  // not read: skills are not fetched
}

// MCPConfig is one MCP server. Type is local or remote; one with Enabled alone switches a server of an
// outer layer off.
type MCPConfig struct {
	Type        string            `json:"type,omitempty"`        // local or remote
	Command     []string          `json:"command,omitempty"`     // program and arguments of a local server
	Cwd         string            `json:"cwd,omitempty"`         // where it runs; default: where tenon was started
	Environment map[string]string `json:"environment,omitempty"` // variables that it gets beside PATH, HOME and the like
	URL         string            `json:"url,omitempty"`         // address of a remote server
	Headers     map[string]string `json:"headers,omitempty"`     // of each request to it
	OAuth       json.RawMessage   `json:"oauth,omitempty"`       // an object, or false
	Enabled     *bool             `json:"enabled,omitempty"`     // false switches it off
	Timeout     int64             `json:"timeout,omitempty"`     // milliseconds, of one request; default 30000
	// Hooks are tools of the server that are called at hook points.
	Hooks []MCPHookConfig `json:"hooks,omitempty"`
}

// MCPHookConfig makes a tool of an MCP server a hook.
type MCPHookConfig struct {
	Tool      string   `json:"tool"`               // the name the server gives it
	Point     string   `json:"point"`              // as the other fields: see HookDescription
	Name      string   `json:"name,omitempty"`     // tells several hooks at one point apart
	Reads     []string `json:"reads,omitempty"`    // JSON pointers of the fields that it is sent
	Writes    []string `json:"writes,omitempty"`   // JSON pointers of the fields that it may change
	Priority  int      `json:"priority,omitempty"` // lower runs first; default 0
	Before    []string `json:"before,omitempty"`   // plugins that run after it
	After     []string `json:"after,omitempty"`    // plugins that run before it
	OnError   OnError  `json:"onError,omitempty"`  // skip, deny or stop when it fails
	TimeoutMS int64    `json:"timeout,omitempty"`  // milliseconds
}

// Description returns the hook as descriptions have it.
func (c *MCPHookConfig) Description() HookDescription {
	return HookDescription{
		Point: c.Point, Name: c.Name, Reads: c.Reads, Writes: c.Writes, Priority: c.Priority,
		Before: c.Before, After: c.After, OnError: c.OnError, TimeoutMS: c.TimeoutMS,
	}
}

// PluginConfig is one plugin: a path or a name, alone or with options.
type PluginConfig struct {
	Path    string          `json:"path"`              // a path or a name
	Options json.RawMessage `json:"options,omitempty"` // what the plugin takes
	// Required ends runs in which the plugin does not work: it is missing, not approved, disabled, in quarantine, or does not start.
	Required bool `json:"required,omitempty"`
}

// HookOverride is what the user sets over a plugin's manifest.
type HookOverride struct {
	OnError  OnError `json:"onError,omitempty"`  // skip, deny or stop when a hook fails
	Timeout  int64   `json:"timeout,omitempty"`  // milliseconds, of one hook call
	Priority *int    `json:"priority,omitempty"` // lower runs first
	Disable  bool    `json:"disable,omitempty"`  // call none of its hooks
}

// SandboxConfig changes what the commands of the model, and processes of third parties, which the system confines where it can, may read and write. Paths are
// absolute or begin with ~/. A project's file cannot have it.
type SandboxConfig struct {
	Enabled *bool    `json:"enabled,omitempty"` // false: commands run unconfined; default true
	Write   []string `json:"write,omitempty"`   // further directories and files to write; not one with tenon's files in it, or on PATH
	Read    []string `json:"read,omitempty"`    // secrets that may be read all the same
	Hide    []string `json:"hide,omitempty"`    // further files and directories that may not be read
	// Unconfined names plugins, MCP servers and command hooks of packages and projects that run with all your rights. A package's name
	// counts for its servers and hooks, too.
	Unconfined []string `json:"unconfined,omitempty"`
}

// ToolOutputConfig bounds what of a tool's output goes into the conversation.
type ToolOutputConfig struct {
	MaxLines int `json:"max_lines,omitempty"` // default 2000
	MaxBytes int `json:"max_bytes,omitempty"` // default 51200
}

// ToolSearchConfig says when tools of plugins hide behind the tool tool_search.
type ToolSearchConfig struct {
	// Budget is how many tokens the definitions of all tools may take in a request; default 10,000. 0 hides every tool of a
	// plugin.
	Budget  *int64 `json:"budget,omitempty"`
	Disable bool   `json:"disable,omitempty"` // no tool ever hides
}

// DefaultToolBudget is the default of ToolSearchConfig.Budget, in tokens.
const DefaultToolBudget = 10_000

// CompactionConfig says when and how a conversation is summarised.
type CompactionConfig struct {
	Auto                 *bool `json:"auto,omitempty"`                   // default true; false is off, on overflow too
	Prune                bool  `json:"prune,omitempty"`                  // drop old tool output from requests
	TailTurns            *int  `json:"tail_turns,omitempty"`             // how many of the newest turns stay verbatim
	PreserveRecentTokens int64 `json:"preserve_recent_tokens,omitempty"` // tokens of the newest turns that stay verbatim; default a quarter of the context, 2000 to 15000
	Reserved             int64 `json:"reserved,omitempty"`               // tokens kept free for the answer
}

// RetryConfig bounds the retries of a model request.
type RetryConfig struct {
	Max     *int  `json:"max,omitempty"`      // per step; default 5
	DelayMS int64 `json:"delay_ms,omitempty"` // before the first retry, in milliseconds; doubles; default 2000
}

// ExperimentalConfig holds switches that may change.
type ExperimentalConfig struct {
	ContinueLoopOnDeny bool  `json:"continue_loop_on_deny,omitempty"` // go on after the user rejected a call without a message
	MCPTimeout         int64 `json:"mcp_timeout,omitempty"`           // milliseconds
}

// UnmarshalJSON reads a path alone, a pair of path and options, or an object.
func (p *PluginConfig) UnmarshalJSON(data []byte) error {
	*p = PluginConfig{}
	switch {
	case len(data) > 0 && data[0] == '"':
		return json.Unmarshal(data, &p.Path)
	case len(data) > 0 && data[0] == '[':
		return json.Unmarshal(data, &[]any{&p.Path, &p.Options})
	}
	type plain PluginConfig
	return json.Unmarshal(data, (*plain)(p))
}

// UnmarshalJSON decodes the options and keeps those that belong to the protocol.
func (o *ProviderOptions) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, o) }

// MarshalJSON encodes the options with those that belong to the protocol.
func (o ProviderOptions) MarshalJSON() ([]byte, error) { return value.Marshal(&o) }

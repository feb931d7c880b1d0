package sdk

import "encoding/json"

// Config is the merged configuration. Keys that opencode has keep its name and meaning.
type Config struct {
	Schema            string                    `json:"$schema,omitempty"`
	Model             string                    `json:"model,omitempty"`       // provider/model
	SmallModel        string                    `json:"small_model,omitempty"` // for titles
	DefaultAgent      string                    `json:"default_agent,omitempty"`
	Username          string                    `json:"username,omitempty"`
	Shell             string                    `json:"shell,omitempty"`    // runs commands; default: bash, else sh
	LogLevel          string                    `json:"logLevel,omitempty"` // debug, info, warn or error
	Provider          map[string]ProviderConfig `json:"provider,omitempty"`
	DisabledProviders []string                  `json:"disabled_providers,omitempty"`
	EnabledProviders  []string                  `json:"enabled_providers,omitempty"` // none but these
	Agent             map[string]AgentConfig    `json:"agent,omitempty"`
	Command           map[string]CommandConfig  `json:"command,omitempty"`
	Skills            SkillsConfig              `json:"skills,omitzero"`
	Instructions      []string                  `json:"instructions,omitempty"` // paths and globs of files added to the system prompt
	Permission        PermissionRules           `json:"permission,omitempty"`
	Tools             map[string]bool           `json:"tools,omitempty"` // older form of permission
	MCP               map[string]MCPConfig      `json:"mcp,omitempty"`
	Plugins           []PluginConfig            `json:"plugins,omitempty"`
	Hooks             json.RawMessage           `json:"hooks,omitempty"`          // command hooks
	HookConfig        map[string]HookOverride   `json:"hook,omitempty"`           // per plugin: what overrides its manifest
	Snapshot          *bool                     `json:"snapshot,omitempty"`       // default true
	SubagentDepth     *int                      `json:"subagent_depth,omitempty"` // how deep subagents may nest; default 1
	ToolOutput        ToolOutputConfig          `json:"tool_output,omitzero"`
	ToolSearch        ToolSearchConfig          `json:"tool_search,omitzero"`
	Compaction        CompactionConfig          `json:"compaction,omitzero"`
	Retry             RetryConfig               `json:"retry,omitzero"`
	Experimental      ExperimentalConfig        `json:"experimental,omitzero"`
}

// ProviderConfig adds a provider or extends one of the catalog.
type ProviderConfig struct {
	Name      string                 `json:"name,omitempty"`
	Protocol  string                 `json:"protocol,omitempty"` // openai-chat, openai-responses, …
	NPM       string                 `json:"npm,omitempty"`      // read as a protocol name; nothing is installed
	API       string                 `json:"api,omitempty"`      // older name of options.baseURL
	Env       []string               `json:"env,omitempty"`
	Options   ProviderOptions        `json:"options,omitzero"`
	Whitelist []string               `json:"whitelist,omitempty"` // none but these models
	Blacklist []string               `json:"blacklist,omitempty"`
	Models    map[string]ModelConfig `json:"models,omitempty"`
}

// ProviderOptions say how to reach a provider.
type ProviderOptions struct {
	APIKey  string            `json:"apiKey,omitempty"`
	BaseURL string            `json:"baseURL,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Timeout bounds the wait for each piece of an answer, in milliseconds; false or 0 switches it off.
	// Default: DefaultIdleTimeout.
	Timeout json.RawMessage `json:"timeout,omitempty"`
	// ChunkTimeout and HeaderTimeout are opencode's finer forms, in milliseconds.
	ChunkTimeout  int64 `json:"chunkTimeout,omitempty"`
	HeaderTimeout int64 `json:"headerTimeout,omitempty"`
	SetCacheKey   bool  `json:"setCacheKey,omitempty"`
	// Extra holds what else the protocol understands.
	Extra Extra `json:"-"`
}

// ModelConfig adds a model or changes fields of a known one; what is not set stays as it was.
type ModelConfig struct {
	ID          string            `json:"id,omitempty"` // the name the server knows; default: the key
	Name        string            `json:"name,omitempty"`
	Limit       *ModelLimit       `json:"limit,omitempty"`
	Cost        *ModelCost        `json:"cost,omitempty"`
	Reasoning   *bool             `json:"reasoning,omitempty"`
	Temperature *bool             `json:"temperature,omitempty"`
	ToolCall    *bool             `json:"tool_call,omitempty"`
	Attachment  *bool             `json:"attachment,omitempty"`
	Modalities  *Modalities       `json:"modalities,omitempty"`
	Status      string            `json:"status,omitempty"`
	Options     Object            `json:"options,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Variants    map[string]Object `json:"variants,omitempty"`
}

// AgentConfig adds an agent or changes one.
type AgentConfig struct {
	Model       string          `json:"model,omitempty"`
	Variant     string          `json:"variant,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	TopP        *float64        `json:"top_p,omitempty"`
	Prompt      string          `json:"prompt,omitempty"`
	Description string          `json:"description,omitempty"`
	Mode        string          `json:"mode,omitempty"`
	Hidden      *bool           `json:"hidden,omitempty"`
	Color       string          `json:"color,omitempty"`
	Steps       int             `json:"steps,omitempty"`
	MaxSteps    int             `json:"maxSteps,omitempty"` // older name of steps
	Options     Object          `json:"options,omitempty"`
	Permission  PermissionRules `json:"permission,omitempty"`
	Tools       map[string]bool `json:"tools,omitempty"` // older form of permission
	Disable     bool            `json:"disable,omitempty"`
}

// CommandConfig adds a command.
type CommandConfig struct {
	Template    string `json:"template"`
	Description string `json:"description,omitempty"`
	Agent       string `json:"agent,omitempty"`
	Model       string `json:"model,omitempty"`
	Variant     string `json:"variant,omitempty"`
	Subtask     *bool  `json:"subtask,omitempty"`
}

// SkillsConfig names further places of skills.
type SkillsConfig struct {
	Paths []string `json:"paths,omitempty"`
	URLs  []string `json:"urls,omitempty"`
}

// MCPConfig is one MCP server. Type is local or remote; one with Enabled alone switches a server of an
// outer layer off.
type MCPConfig struct {
	Type        string            `json:"type,omitempty"`
	Command     []string          `json:"command,omitempty"`
	Cwd         string            `json:"cwd,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	URL         string            `json:"url,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	OAuth       json.RawMessage   `json:"oauth,omitempty"`
	Enabled     *bool             `json:"enabled,omitempty"`
	Timeout     int64             `json:"timeout,omitempty"` // milliseconds, of one request; default 30000
	// Hooks are tools of the server that are called at hook points.
	Hooks []MCPHookConfig `json:"hooks,omitempty"`
}

// MCPHookConfig makes a tool of an MCP server a hook.
type MCPHookConfig struct {
	Tool      string   `json:"tool"`  // the name the server gives it
	Point     string   `json:"point"` // as the other fields: see HookDescription
	Name      string   `json:"name,omitempty"`
	Reads     []string `json:"reads,omitempty"`
	Writes    []string `json:"writes,omitempty"`
	Priority  int      `json:"priority,omitempty"`
	Before    []string `json:"before,omitempty"`
	After     []string `json:"after,omitempty"`
	OnError   OnError  `json:"onError,omitempty"`
	TimeoutMS int64    `json:"timeout,omitempty"` // milliseconds
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
	Path    string          `json:"path"`
	Options json.RawMessage `json:"options,omitempty"`
}

// HookOverride is what the user sets over a plugin's manifest.
type HookOverride struct {
	OnError  OnError `json:"onError,omitempty"`
	Timeout  int64   `json:"timeout,omitempty"` // milliseconds, of one hook call
	Priority *int    `json:"priority,omitempty"`
	Disable  bool    `json:"disable,omitempty"`
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
	Auto                 *bool `json:"auto,omitempty"`  // default true; false is off, on overflow too
	Prune                bool  `json:"prune,omitempty"` // drop old tool output from requests
	TailTurns            *int  `json:"tail_turns,omitempty"`
	PreserveRecentTokens int64 `json:"preserve_recent_tokens,omitempty"`
	Reserved             int64 `json:"reserved,omitempty"` // tokens kept free for the answer
}

// RetryConfig bounds the retries of a model request.
type RetryConfig struct {
	Max     *int  `json:"max,omitempty"`      // per step; default 5
	DelayMS int64 `json:"delay_ms,omitempty"` // before the first retry, in milliseconds; doubles; default 2000
}

// ExperimentalConfig holds switches that may change.
type ExperimentalConfig struct {
	ContinueLoopOnDeny bool  `json:"continue_loop_on_deny,omitempty"`
	MCPTimeout         int64 `json:"mcp_timeout,omitempty"` // milliseconds
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
func (o *ProviderOptions) UnmarshalJSON(data []byte) (err error) {
	type plain ProviderOptions
	o.Extra, err = decodeWire(data, (*plain)(o))
	return err
}

// MarshalJSON encodes the options with those that belong to the protocol.
func (o ProviderOptions) MarshalJSON() ([]byte, error) {
	type plain ProviderOptions
	return encodeWire("", plain(o), o.Extra)
}

package sdk

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"

	"github.com/tenonhq/tenon/internal/value"
)

// Config is the merged configuration. Keys that opencode also has keep their names and meanings.
type Config struct {
	Schema            string                    `json:"$schema,omitempty"`            // a JSON schema for editors; tenon config schema prints it
	Model             string                    `json:"model,omitempty"`              // provider/model
	SmallModel        string                    `json:"small_model,omitempty"`        // for titles
	DefaultAgent      string                    `json:"default_agent,omitempty"`      // default agent of sessions; default build
	Username          string                    `json:"username,omitempty"`           // name of the user
	Shell             string                    `json:"shell,omitempty"`              // runs commands; default: bash, else sh
	Sandbox           SandboxConfig             `json:"sandbox,omitzero"`             // files that confined commands may read and write; false disables the sandbox
	LogLevel          string                    `json:"logLevel,omitempty"`           // debug, info, warn or error
	Provider          map[string]ProviderConfig `json:"provider,omitempty"`           // by identifier: providers to add or change
	Catalog           CatalogConfig             `json:"catalog,omitzero"`             // the list of models and prices
	DisabledProviders []string                  `json:"disabled_providers,omitempty"` // providers not to use
	EnabledProviders  []string                  `json:"enabled_providers,omitempty"`  // the only providers to use
	Agent             map[string]AgentConfig    `json:"agent,omitempty"`              // by name: agents to add or change
	Command           map[string]CommandConfig  `json:"command,omitempty"`            // by name: commands to add
	Skills            SkillsConfig              `json:"skills,omitzero"`              // further folders of skills
	Instructions      []string                  `json:"instructions,omitempty"`       // paths and globs of files added to the system prompt
	Permission        PermissionRules           `json:"permission,omitempty"`         // rules for tools: by permission and pattern allow, ask or deny; the last match decides
	Tools             map[string]bool           `json:"tools,omitempty"`              // older form of permission
	MCP               map[string]MCPConfig      `json:"mcp,omitempty"`                // by name: MCP servers
	MCPRegistry       string                    `json:"mcp_registry,omitempty"`       // address of the registry that tenon mcp search asks
	Plugins           []PluginConfig            `json:"plugins,omitempty"`            // paths and names of plugins, alone or with options
	PluginPolicy      PluginPolicy              `json:"plugin_policy,omitzero"`       // permitted sources of plugins, and required signers
	Hooks             json.RawMessage           `json:"hooks,omitempty"`              // command hooks
	HookConfig        map[string]HookOverride   `json:"hook,omitempty"`               // by plugin: values that override its manifest
	Snapshot          *bool                     `json:"snapshot,omitempty"`           // default true
	SubagentDepth     *int                      `json:"subagent_depth,omitempty"`     // maximum nesting of subagents; default 1
	ToolOutput        ToolOutputConfig          `json:"tool_output,omitzero"`         // bounds of a tool's output in the conversation
	ToolSearch        ToolSearchConfig          `json:"tool_search,omitzero"`         // when tools of plugins are hidden
	Compaction        CompactionConfig          `json:"compaction,omitzero"`          // when and how a conversation is summarized
	Retry             RetryConfig               `json:"retry,omitzero"`               // bounds of the retries of a model request
	Experimental      ExperimentalConfig        `json:"experimental,omitzero"`        // options that may change
}

// CatalogConfig configures the refresh of the list of models, limits and prices. A project's file must not contain it.
type CatalogConfig struct {
	Refresh *bool  `json:"refresh,omitempty"` // refresh it in the background, at most once a day; default true
	URL     string `json:"url,omitempty"`     // address of the list, in the form of models.dev; default https://models.dev/api.json
}

// ProviderConfig adds a provider or extends one of the catalog.
type ProviderConfig struct {
	Name      string                 `json:"name,omitempty"`      // human-readable; default: the identifier
	Protocol  string                 `json:"protocol,omitempty"`  // openai-chat, openai-responses, …
	NPM       string                 `json:"npm,omitempty"`       // selects the protocol and the dialect; nothing is installed
	API       string                 `json:"api,omitempty"`       // older name of options.baseURL
	Env       []string               `json:"env,omitempty"`       // environment variables for the key
	Options   ProviderOptions        `json:"options,omitzero"`    // connection options
	Whitelist []string               `json:"whitelist,omitempty"` // the only models to use
	Blacklist []string               `json:"blacklist,omitempty"` // models not to use
	Models    map[string]ModelConfig `json:"models,omitempty"`    // by identifier: models to add or change
}

// ProviderOptions are the connection options of a provider.
type ProviderOptions struct {
	APIKey  string            `json:"apiKey,omitempty"`  // API key; {env:NAME} or {file:path} keeps it out of the file
	BaseURL string            `json:"baseURL,omitempty"` // address of the API, such as http://localhost:11434/v1
	Headers map[string]string `json:"headers,omitempty"` // further headers of each request
	// maximum wait for each piece of an answer, in milliseconds; false or 0 disables it; default 300000
	Timeout       json.RawMessage `json:"timeout,omitempty"`
	ChunkTimeout  int64           `json:"chunkTimeout,omitempty"`  // timeout for the pieces after the headers of an answer, in milliseconds
	HeaderTimeout int64           `json:"headerTimeout,omitempty"` // timeout for the headers of an answer, in milliseconds
	// maximum time without a piece of the answer itself, in milliseconds; false disables it; default three times the longer of chunkTimeout and
	// headerTimeout
	AnswerTimeout json.RawMessage `json:"answerTimeout,omitempty"`
	// maximum time for the whole answer, in milliseconds; false disables it; default 7200000
	TotalTimeout json.RawMessage `json:"totalTimeout,omitempty"`
	SetCacheKey  *bool           `json:"setCacheKey,omitempty"` // send a key by which the server may cache the prompt; default: by npm
	// Extra holds further options of the protocol.
	Extra Extra `json:"-"`
}

// ModelConfig adds a model or changes fields of a known one. Fields that are not set do not change.
type ModelConfig struct {
	ID          string            `json:"id,omitempty"`           // the server's name of the model; default: the key
	Name        string            `json:"name,omitempty"`         // human-readable
	Limit       *ModelLimit       `json:"limit,omitempty"`        // context and output limits
	Cost        *ModelCost        `json:"cost,omitempty"`         // in dollars per million tokens
	Reasoning   *bool             `json:"reasoning,omitempty"`    // supports reasoning
	Temperature *bool             `json:"temperature,omitempty"`  // supports a temperature
	ToolCall    *bool             `json:"tool_call,omitempty"`    // supports tool calls
	Attachment  *bool             `json:"attachment,omitempty"`   // supports files
	Modalities  *Modalities       `json:"modalities,omitempty"`   // kinds of input and output
	Status      string            `json:"status,omitempty"`       // such as beta or deprecated
	Family      string            `json:"family,omitempty"`       // such as claude-sonnet
	ReleaseDate string            `json:"release_date,omitempty"` // YYYY-MM-DD
	Interleaved json.RawMessage   `json:"interleaved,omitempty"`  // true, or an object with the field that returns the reasoning
	Provider    *ModelServer      `json:"provider,omitempty"`     // another server than the provider's
	Options     Object            `json:"options,omitempty"`      // further fields of each request body
	Headers     map[string]string `json:"headers,omitempty"`      // further headers of each request
	Variants    map[string]Object `json:"variants,omitempty"`     // by name: options of a variant
}

// ModelServer replaces the provider's server for one model.
type ModelServer struct {
	NPM string `json:"npm,omitempty"` // as npm of the provider
	API string `json:"api,omitempty"` // address of the API
}

// AgentConfig adds an agent or changes one.
type AgentConfig struct {
	Model       string          `json:"model,omitempty"`       // provider/model; default: the session's
	Variant     string          `json:"variant,omitempty"`     // variant of the model
	Temperature *float64        `json:"temperature,omitempty"` // of its requests
	TopP        *float64        `json:"top_p,omitempty"`       // of its requests
	Prompt      string          `json:"prompt,omitempty"`      // its system prompt
	Description string          `json:"description,omitempty"` // when to use it; shown to users and models
	Mode        string          `json:"mode,omitempty"`        // primary, subagent or all
	Hidden      *bool           `json:"hidden,omitempty"`      // hide it from lists
	Color       string          `json:"color,omitempty"`       // color in user interfaces
	Steps       int             `json:"steps,omitempty"`       // maximum steps of a turn; 0: no limit
	MaxSteps    int             `json:"maxSteps,omitempty"`    // older name of steps
	Options     Object          `json:"options,omitempty"`     // further fields of its requests
	Permission  PermissionRules `json:"permission,omitempty"`  // rules for this agent, applied after those for all agents
	Tools       map[string]bool `json:"tools,omitempty"`       // older form of permission
	Disable     bool            `json:"disable,omitempty"`     // remove it
}

// Configure sets the fields that c sets, except the permission rules.
func (a *Agent) Configure(c *AgentConfig) {
	a.Description = cmp.Or(c.Description, a.Description)
	a.Mode = cmp.Or(c.Mode, a.Mode)
	a.Prompt = cmp.Or(c.Prompt, a.Prompt)
	a.Variant = cmp.Or(c.Variant, a.Variant)
	a.Color = cmp.Or(c.Color, a.Color)
	a.Steps = cmp.Or(max(c.Steps, 0), max(c.MaxSteps, 0), a.Steps)
	if provider, id, ok := strings.Cut(c.Model, "/"); ok {
		a.Model = &ModelRef{ProviderID: provider, ModelID: id}
	}
	a.Temperature = cmp.Or(c.Temperature, a.Temperature)
	a.TopP = cmp.Or(c.TopP, a.TopP)
	a.Hidden = *cmp.Or(c.Hidden, &a.Hidden)
	a.Disabled = c.Disable
	if len(c.Options) > 0 {
		options := Object{}
		maps.Copy(options, a.Options)
		maps.Copy(options, c.Options)
		a.Options = options
	}
}

// CommandConfig adds a command.
type CommandConfig struct {
	Template    string `json:"template"`              // the prompt; $ARGUMENTS, $1, @file and !`command` are replaced
	Description string `json:"description,omitempty"` // human-readable
	Agent       string `json:"agent,omitempty"`       // agent to run it with
	Model       string `json:"model,omitempty"`       // provider/model to run it with
	Variant     string `json:"variant,omitempty"`     // variant of the model
	Subtask     *bool  `json:"subtask,omitempty"`     // run it in a subagent
}

// SkillsConfig lists further folders of skills.
type SkillsConfig struct {
	Paths []string `json:"paths,omitempty"` // folders of skills
	URLs  []string `json:"urls,omitempty"`  // ignored: skills are not downloaded
	// Packaged are the skills of approved plugin packages. The host sets it.
	Packaged []PackagedSkill `json:"-"`
}

// PackagedSkill is a skill of an approved plugin package, whose files do not change.
type PackagedSkill struct {
	Name, Description string // of its front matter
	Location          string // the SKILL.md, absolute
	Root              string // the package's directory, absolute
	Manual            bool   // as in Skill
}

// MCPConfig is one MCP server. An entry that only has Enabled disables a server of another configuration file.
type MCPConfig struct {
	Type        string            `json:"type,omitempty"`        // local or remote
	Command     []string          `json:"command,omitempty"`     // program and arguments of a local server
	Cwd         string            `json:"cwd,omitempty"`         // working directory; default: the directory in which tenon was started
	Environment map[string]string `json:"environment,omitempty"` // environment variables in addition to PATH, HOME, and similar ones
	URL         string            `json:"url,omitempty"`         // address of a remote server
	Headers     map[string]string `json:"headers,omitempty"`     // HTTP headers of each request
	OAuth       json.RawMessage   `json:"oauth,omitempty"`       // an object, or false
	Enabled     *bool             `json:"enabled,omitempty"`     // false disables it
	Timeout     int64             `json:"timeout,omitempty"`     // milliseconds, of one request; default 30000
	Hooks       []MCPHookConfig   `json:"hooks,omitempty"`       // tools of the server to call at hook points
}

// MCPHookConfig is a tool of an MCP server that runs as a hook.
type MCPHookConfig struct {
	Tool string `json:"tool"` // name of the tool
	HookDescription
}

// PluginConfig is one plugin: a path or a name, alone or with options.
type PluginConfig struct {
	Path    string          `json:"path"`              // a path or a name
	Options json.RawMessage `json:"options,omitempty"` // options of the plugin
	// end a run if the plugin is missing, not approved, disabled, in quarantine, or does not start
	Required bool `json:"required,omitempty"`
}

// PluginPolicy limits the sources of plugins and requires signatures. A source is written as for tenon plugin install, without a version;
// "*" matches any characters, and a pattern includes everything below it. A project's file must not contain it.
type PluginPolicy struct {
	Allow   []string       `json:"allow,omitzero"`    // the only permitted sources; an empty list permits none; default: all
	Deny    []string       `json:"deny,omitempty"`    // sources that are refused, even if allowed
	Signers []PluginSigner `json:"signers,omitempty"` // required signers; if several match a source, one of them is enough
	// absolute path of a trusted_root.json that replaces the one of Sigstore's public instance
	TrustedRoot string `json:"trusted_root,omitempty"`
}

// PluginSigner requires a signature: with a minisign key, or of an identity that an issuer confirmed to Sigstore.
type PluginSigner struct {
	Sources  []string `json:"sources"`            // patterns
	Key      string   `json:"key,omitempty"`      // minisign public key, which begins with RW
	Identity string   `json:"identity,omitempty"` // email address, or address of a workflow with its ref; "*" matches any characters
	Issuer   string   `json:"issuer,omitempty"`   // such as https://token.actions.githubusercontent.com
}

// HookOverride overrides the manifest of a plugin.
type HookOverride struct {
	OnError  OnError `json:"onError,omitempty"`  // skip, deny or stop when a hook fails
	Timeout  int64   `json:"timeout,omitempty"`  // milliseconds, of one hook call
	Priority *int    `json:"priority,omitempty"` // lower runs first
	Disable  bool    `json:"disable,omitempty"`  // do not call its hooks
}

// SandboxConfig changes the files that confined processes may read and write: commands of the model and processes of third parties. Paths are
// absolute or begin with ~/. A project's file must not contain it.
type SandboxConfig struct {
	Enabled *bool    `json:"enabled,omitempty"` // false: commands run unconfined; default true
	Write   []string `json:"write,omitempty"`   // further directories and files to write; none that contains tenon's files or is on PATH
	Read    []string `json:"read,omitempty"`    // secrets to read
	Hide    []string `json:"hide,omitempty"`    // further files and directories not to read
	// names of plugins, MCP servers and command hooks of packages and projects that run with all your rights; a package's name includes its
	// servers and hooks
	Unconfined []string `json:"unconfined,omitempty"`
}

// ToolOutputConfig bounds the part of a tool's output in the conversation.
type ToolOutputConfig struct {
	MaxLines int `json:"max_lines,omitempty"` // default 2000
	MaxBytes int `json:"max_bytes,omitempty"` // default 51200; never more than the context of the model has tokens
}

// ToolSearchConfig configures when tools of plugins are hidden behind the tool tool_search.
type ToolSearchConfig struct {
	// maximum number of tokens of all tool definitions in a request; default 10,000; 0 hides all tools of plugins
	Budget  *int64 `json:"budget,omitempty"`
	Disable bool   `json:"disable,omitempty"` // never hide tools
}

// DefaultToolBudget is the default of ToolSearchConfig.Budget, in tokens.
const DefaultToolBudget = 10_000

// CompactionConfig configures when and how a conversation is summarized.
type CompactionConfig struct {
	Auto                 *bool `json:"auto,omitempty"`                   // default true; false disables it, even on overflow
	Prune                bool  `json:"prune,omitempty"`                  // remove old tool output from requests
	TailTurns            *int  `json:"tail_turns,omitempty"`             // number of newest turns that stay verbatim
	PreserveRecentTokens int64 `json:"preserve_recent_tokens,omitempty"` // tokens of the newest turns, or of the newest steps of a turn that is too long, that stay verbatim; default a quarter of the context, 2000 to 15000
	Reserved             int64 `json:"reserved,omitempty"`               // tokens kept free for the answer
}

// RetryConfig bounds the retries of a model request.
type RetryConfig struct {
	Max     *int  `json:"max,omitempty"`      // per step; default 5
	DelayMS int64 `json:"delay_ms,omitempty"` // before the first retry, in milliseconds; doubles; default 2000
}

// ExperimentalConfig holds options that may change.
type ExperimentalConfig struct {
	ContinueLoopOnDeny bool  `json:"continue_loop_on_deny,omitempty"` // continue after the user rejected a call without a message
	MCPTimeout         int64 `json:"mcp_timeout,omitempty"`           // milliseconds
}

// UnmarshalJSON decodes a path, a pair of path and options, or an object.
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

// UnmarshalJSON decodes the options and keeps further ones in Extra.
func (o *ProviderOptions) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, o) }

// MarshalJSON encodes the options, including those in Extra.
func (o ProviderOptions) MarshalJSON() ([]byte, error) { return value.Marshal(&o) }

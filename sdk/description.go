package sdk

import "encoding/json"

// ExtensionNamespace is the key of tenon's part of an Agent Plugins manifest: extensions[ExtensionNamespace].
const ExtensionNamespace = "io.github.tenonhq"

// Description describes the contributions of a plugin outside the host's process. It is tenon's part of a plugin.json. A plugin without a
// plugin.json returns it when the host asks it to describe itself.
type Description struct {
	// Name, Version and Summary are set by a plugin that describes itself. In a plugin.json they are fields outside the extension.
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	Summary string `json:"description,omitempty"`

	Runtime *Runtime `json:"runtime,omitempty"` // nil if a plugin describes itself
	// Build builds the module or the executable from its source, in the package's directory. Only the author's commands run it
	// ("tenon plugin test", "tenon run --plugin … --watch"). Installed plugins are never built.
	Build        *Build            `json:"build,omitempty"`
	Hooks        []HookDescription `json:"hooks,omitempty"`
	Tools        []ToolDescription `json:"tools,omitempty"`
	Capabilities []Capability      `json:"capabilities,omitempty"`
	Options      json.RawMessage   `json:"options,omitempty"` // a JSON schema of the plugin's options

	Providers []ProviderInfo    `json:"providers,omitempty"`
	Protocols []string          `json:"protocols,omitempty"` // names of its wire protocols
	Auth      []AuthDescription `json:"auth,omitempty"`      // ways to sign in to providers

	// Only a process can contribute the following.
	Agents   []Agent   `json:"agents,omitempty"`
	Commands []Command `json:"commands,omitempty"`
}

// Runtime describes how a packaged plugin runs. Paths begin with ./ and stay inside the package.
type Runtime struct {
	Type   string `json:"type"`             // the carrier: "wasm" or "process"
	Module string `json:"module,omitempty"` // of a wasm plugin: the path of its module
	// Command starts a process plugin: the path of an executable in the package, or a name that is looked up in PATH, and its
	// arguments. Platforms overrides it by GOOS/GOARCH.
	Command   []string            `json:"command,omitempty"`
	Platforms map[string][]string `json:"platforms,omitempty"`
	// MemoryMB bounds the memory of one wasm instance, in MiB. Default DefaultWASMMemoryMB, at most MaxWASMMemoryMB.
	MemoryMB int `json:"memory,omitempty"`
	// State is the scope of the memory of an instance: StateSession (default) or StatePlugin.
	State string `json:"state,omitempty"`
}

// Build is the command that builds a plugin.
type Build struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env,omitempty"` // in addition to the author's environment
}

// Values of Runtime.State.
const (
	StateSession = "session" // each session has its own memory
	StatePlugin  = "plugin"  // all sessions share the memory
)

// Bounds of Runtime.MemoryMB.
const (
	DefaultWASMMemoryMB = 64
	MaxWASMMemoryMB     = 1024
)

// HookDescription is a Hook without its handler. Point may have opencode's prefix experimental. The default of Name is the point. Reads and Writes
// are as in Hook.
type HookDescription struct {
	Point     string   `json:"point"`              // hook point, such as tool.execute.after
	Name      string   `json:"name,omitempty"`     // distinguishes several hooks at one point
	Reads     []string `json:"reads,omitempty"`    // JSON pointers of the fields it receives
	Writes    []string `json:"writes,omitempty"`   // JSON pointers of the fields it may change
	Priority  int      `json:"priority,omitempty"` // lower runs first; default 0
	Before    []string `json:"before,omitempty"`   // plugins that run after it
	After     []string `json:"after,omitempty"`    // plugins that run before it
	OnError   OnError  `json:"onError,omitempty"`  // skip, deny or stop when it fails
	TimeoutMS int64    `json:"timeout,omitempty"`  // milliseconds, of one call; default 2000
}

// AuthDescription is an AuthMethod without its functions.
type AuthDescription struct {
	Provider  string `json:"provider"` // ID of the provider; CapabilityAuth must name it
	ID        string `json:"id"`       // unique among the provider's methods of the plugin
	Name      string `json:"name,omitempty"`
	Refreshes bool   `json:"refreshes,omitempty"` // the plugin refreshes its tokens
	Headers   bool   `json:"headers,omitempty"`   // the plugin returns the headers of requests; default: the token as a bearer token
}

// ToolDescription is a tool without its code.
type ToolDescription struct {
	ToolDefinition
	Permission string `json:"permission,omitempty"` // the permission key, default the id
	// Prepares is set if the plugin lists the permissions that each call requires (ToolPreparer).
	Prepares  bool  `json:"prepares,omitempty"`
	TimeoutMS int64 `json:"timeout,omitempty"` // milliseconds; default and maximum: DefaultToolTimeout
}

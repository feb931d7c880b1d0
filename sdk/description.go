package sdk

import "encoding/json"

// ExtensionNamespace is where tenon's part of an Agent Plugins manifest stands: extensions[ExtensionNamespace].
const ExtensionNamespace = "io.github.tenonhq"

// Description says what a plugin outside of the host's process contributes. It is tenon's part of a plugin.json, and what a
// plugin that has no plugin.json answers when it is asked to describe itself.
type Description struct {
	// Name, Version and Summary are for a plugin that describes itself; in a plugin.json they stand outside of the extension.
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	Summary string `json:"description,omitempty"`

	Runtime *Runtime `json:"runtime,omitempty"` // nil in what a plugin says of itself
	// Build makes the module or the executable from its source, in the package's directory. Only the author's commands run it
	// ("tenon plugin test", "tenon run --plugin … --watch"); nothing is built of a plugin that is installed.
	Build        *Build            `json:"build,omitempty"`
	Hooks        []HookDescription `json:"hooks,omitempty"`
	Tools        []ToolDescription `json:"tools,omitempty"`
	Capabilities []Capability      `json:"capabilities,omitempty"`
	Options      json.RawMessage   `json:"options,omitempty"` // a JSON schema of the plugin's options

	// What follows only a process can contribute.
	Providers []ProviderInfo `json:"providers,omitempty"`
	Protocols []string       `json:"protocols,omitempty"` // names of wire protocols it speaks
	Agents    []Agent        `json:"agents,omitempty"`
	Commands  []Command      `json:"commands,omitempty"`
}

// Types of runtimes.
const (
	RuntimeWASM    = "wasm"
	RuntimeProcess = "process"
)

// Runtime says what runs a packaged plugin. Paths begin with ./ and stay inside the package.
type Runtime struct {
	Type   string `json:"type"`             // RuntimeWASM or RuntimeProcess
	Module string `json:"module,omitempty"` // of a wasm plugin: the path of its module
	// Command starts a process plugin: the path of an executable in the package, or a bare name that is looked up in PATH, and its
	// arguments. Platforms replaces it per GOOS/GOARCH.
	Command   []string            `json:"command,omitempty"`
	Platforms map[string][]string `json:"platforms,omitempty"`
	// MemoryMB bounds the memory of one wasm instance, in MiB. Default DefaultWASMMemoryMB, at most MaxWASMMemoryMB.
	MemoryMB int `json:"memory,omitempty"`
	// State says who shares the memory of an instance: StateSession (default) or StatePlugin.
	State string `json:"state,omitempty"`
}

// Build is the command that builds a plugin.
type Build struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env,omitempty"` // beside the author's environment
}

// Values of Runtime.State.
const (
	StateSession = "session" // what one session left in memory no other session sees
	StatePlugin  = "plugin"  // the plugin keeps state over all sessions
)

// Bounds of Runtime.MemoryMB.
const (
	DefaultWASMMemoryMB = 64
	MaxWASMMemoryMB     = 1024
)

// HookDescription is a Hook without its handler.
type HookDescription struct {
	Point string `json:"point"`          // opencode's names with experimental. are accepted
	Name  string `json:"name,omitempty"` // default: the point
	// Reads and Writes are the fields the hook is sent and may change, as in Hook. Left out: none; the empty pointer: all.
	Reads     []string `json:"reads,omitempty"`
	Writes    []string `json:"writes,omitempty"`
	Priority  int      `json:"priority,omitempty"`
	Before    []string `json:"before,omitempty"`
	After     []string `json:"after,omitempty"`
	OnError   OnError  `json:"onError,omitempty"`
	TimeoutMS int64    `json:"timeout,omitempty"` // milliseconds; default DefaultHookTimeout
}

// ToolDescription is a tool without its code.
type ToolDescription struct {
	ToolDefinition
	Permission string `json:"permission,omitempty"` // the permission key, default the id
	// Prepares says that the plugin is to be asked what each call needs leave for (ToolPreparer).
	Prepares  bool  `json:"prepares,omitempty"`
	TimeoutMS int64 `json:"timeout,omitempty"` // milliseconds; default, and most, DefaultToolTimeout
}

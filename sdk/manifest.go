package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrManifest is wrapped by every error about a manifest.
var ErrManifest = errors.New("bad manifest")

// Carrier is how a plugin runs.
type Carrier string

// The carriers.
const (
	CarrierBuiltin Carrier = "builtin"
	CarrierWASM    Carrier = "wasm"
	CarrierProcess Carrier = "process"
	CarrierMCP     Carrier = "mcp"
	CarrierCommand Carrier = "command"
)

// Manifest says who a plugin is and what it asks for.
type Manifest struct {
	Name        string  `json:"name"` // 1 to 64 of a-z 0-9 - . , first and last a letter or digit
	Version     string  `json:"version,omitempty"`
	Description string  `json:"description,omitempty"`
	Carrier     Carrier `json:"carrier"`
	Server      string  `json:"server,omitempty"` // the MCP server that the plugin stands for
	// Capabilities lists what the plugin wants; the user grants each or not.
	Capabilities []Capability `json:"capabilities,omitempty"`
	// Options is a JSON schema of the plugin's part of the configuration.
	Options json.RawMessage `json:"options,omitempty"`
}

// Capability is something a plugin wants leave for: a name such as "http" and what it is limited to.
type Capability struct {
	Name   string   `json:"name"`
	Scope  []string `json:"scope,omitempty"`
	Reason string   `json:"reason,omitempty"` // shown to the user
}

// Validate checks the name and the carrier. Errors wrap ErrManifest and name the field.
func (m *Manifest) Validate() error {
	if err := validName(m.Name); err != nil {
		return err
	}
	switch m.Carrier {
	case CarrierBuiltin, CarrierWASM, CarrierProcess, CarrierMCP, CarrierCommand:
		return nil
	}
	return fmt.Errorf("%w: plugin %q: carrier: unknown carrier %q", ErrManifest, m.Name, m.Carrier)
}

// validName holds the rule of Agent Plugins 1.0.0 for names.
func validName(name string) error {
	bad := func(why string) error { return fmt.Errorf("%w: name: %q %s", ErrManifest, name, why) }
	if name == "" || len(name) > 64 {
		return bad("must have 1 to 64 characters")
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
		return bad("may hold only a-z, 0-9, - and .")
	}
	if strings.ContainsAny(name[:1]+name[len(name)-1:], "-.") {
		return bad("must start and end with a letter or a digit")
	}
	if strings.Contains(name, "--") || strings.Contains(name, "..") {
		return bad("must not hold -- or ..")
	}
	return nil
}

// OnError is what happens when a hook fails.
type OnError string

// The failure policies. The zero value is the default of the hook's kind: skip for observe and
// transform, deny for gate.
const (
	OnErrorDefault OnError = ""
	OnErrorSkip    OnError = "skip" // go on without it, with a visible notice
	OnErrorDeny    OnError = "deny" // the gate denies
	OnErrorStop    OnError = "stop" // the turn ends with an error
)

// DefaultHookTimeout bounds one hook call when neither manifest nor configuration says otherwise.
const DefaultHookTimeout = 2 * time.Second

// MaxHookTimeout is the longest a hook may ask for.
const MaxHookTimeout = 60 * time.Second

// DefaultToolTimeout bounds one call of a plugin's tool. The tools tenon ships bound themselves.
const DefaultToolTimeout = 120 * time.Second

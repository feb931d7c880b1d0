package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrManifest is wrapped by every error about a manifest.
var ErrManifest = errors.New("bad manifest")

// Carrier is how a plugin runs: a lower-case word. plugin.json names it as the type of the runtime.
type Carrier string

// The carriers of this release.
const (
	CarrierBuiltin Carrier = "builtin"
	CarrierWASM    Carrier = "wasm"
	CarrierProcess Carrier = "process"
	CarrierMCP     Carrier = "mcp"
	CarrierCommand Carrier = "command"
)

// Manifest identifies a plugin and lists the capabilities it requests.
type Manifest struct {
	Name        string  `json:"name"` // 1 to 64 of a-z 0-9 - . ; first and last a letter or digit
	Version     string  `json:"version,omitempty"`
	Description string  `json:"description,omitempty"`
	Carrier     Carrier `json:"carrier"`
	Server      string  `json:"server,omitempty"` // the MCP server that the plugin represents
	// Capabilities are requested from the user, who grants or refuses each.
	Capabilities []Capability `json:"capabilities,omitempty"`
	// Options is a JSON schema of the plugin's part of the configuration.
	Options json.RawMessage `json:"options,omitempty"`
}

// Capability is a permission that a plugin requests: one of the Capability constants and its limits.
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
	if m.Carrier == "" || strings.Trim(string(m.Carrier), "abcdefghijklmnopqrstuvwxyz") != "" {
		return fmt.Errorf("%w: plugin %q: carrier: want a lower-case word, not %q", ErrManifest, m.Name, m.Carrier)
	}
	return nil
}

// validName checks the rule of Agent Plugins 1.0.0 for names.
func validName(name string) error {
	bad := func(why string) error { return fmt.Errorf("%w: name: %q %s", ErrManifest, name, why) }
	if name == "" || len(name) > 64 {
		return bad("must have 1 to 64 characters")
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
		return bad("may contain only a-z, 0-9, - and .")
	}
	if strings.ContainsAny(name[:1]+name[len(name)-1:], "-.") {
		return bad("must start and end with a letter or a digit")
	}
	if strings.Contains(name, "--") || strings.Contains(name, "..") {
		return bad("must not contain -- or ..")
	}
	return nil
}

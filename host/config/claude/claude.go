// Package claude translates settings of Claude Code into a configuration of tenon. It returns a note for each setting that it does not import.
// https://code.claude.com/docs/en/settings describes the settings.
package claude

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// ErrSyntax is wrapped by errors about texts that are not settings files.
var ErrSyntax = errors.New("not a settings file of Claude Code")

// output holds the keys that a translation may have, in the order in which they are written.
type output struct {
	Model        string                   `json:"model,omitempty"`
	DefaultAgent string                   `json:"default_agent,omitempty"`
	Permission   sdk.PermissionRules      `json:"permission,omitempty"` // the last matching one decides, so the strictest are last
	MCP          map[string]sdk.MCPConfig `json:"mcp,omitempty"`
	Hooks        json.RawMessage          `json:"hooks,omitempty"`
}

type translator struct {
	source checked.Source
	out    output
	notes  []config.Note
	writes bool // the list of rules has Edit, which allows no new files, and Write, which allows only those
}

// Translate translates the text of a settings.json, or the MCP servers in the text of a .claude.json. Errors wrap ErrSyntax.
func Translate(text []byte) (*config.Translation, error) {
	t := &translator{source: checked.Source{Comments: true, MaxValues: checked.MaxBytes}} // the history of prompts may have thousands
	t.out.MCP = map[string]sdk.MCPConfig{}
	if standard, err := hujson.Standardize(bytes.TrimPrefix(slices.Clone(text), []byte("\ufeff"))); err == nil {
		text = standard // comments become spaces, so that parts of it are JSON
	}
	var report checked.Report
	root := t.source.Parse(text, &report)
	if root == nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, report.Err(ErrSyntax))
	}
	if root.Kind != checked.Object {
		return nil, fmt.Errorf("%w: want an object, have %s", ErrSyntax, root.Kind)
	}
	state := root.Get("numStartups") != nil || root.Get("projects") != nil // a .claude.json, which also has the state of the program
	for i := range root.Members {
		m := &root.Members[i]
		if !state || m.Name == "mcpServers" {
			t.setting(m)
		}
	}
	translated, err := json.MarshalIndent(t.out, "", "  ")
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(t.notes, func(a, b config.Note) int { return cmp.Compare(a.Line, b.Line) })
	return &config.Translation{Config: append(translated, '\n'), Notes: t.notes}, nil
}

func (t *translator) note(offset int, key, format string, args ...any) {
	line, _ := t.source.Position(offset)
	t.notes = append(t.notes, config.Note{Line: line, Key: key, Reason: fmt.Sprintf(format, args...)})
}

// setting translates one setting.
func (t *translator) setting(m *checked.Member) {
	switch m.Name {
	case "model":
		t.model(m)
	case "permissions":
		t.permissions(&m.Value)
	case "hooks": // tenon has the same dialect, and names the parts that it does not support when it loads them
		if m.Value.Kind == checked.Object {
			t.out.Hooks = m.Value.Raw
		} else {
			t.note(m.Offset, m.Name, "not imported: want an object, have %s", m.Value.Kind)
		}
	case "mcpServers":
		t.servers(&m.Value)
	case "env":
		for i := range m.Value.Members {
			v := &m.Value.Members[i]
			t.note(v.Offset, "env."+v.Name, "not imported: commands get the variables of your shell; export %s there", v.Name)
		}
	case "enabledPlugins", "extraKnownMarketplaces":
		t.note(m.Offset, m.Name, "not imported: use tenon plugin marketplace add and tenon plugin install NAME@MARKETPLACE")
	default:
		t.note(m.Offset, m.Name, "not imported: tenon has no such setting")
	}
}

func (t *translator) model(m *checked.Member) {
	if name := m.Value.Text; strings.HasPrefix(name, "claude-") {
		t.out.Model = "anthropic/" + name
		return
	}
	t.note(m.Offset, "model", "not imported: %q is not the full name of a model; tenon models anthropic --all lists them", m.Value.Text)
}

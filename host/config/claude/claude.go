// Package claude translates settings of Claude Code into a configuration of tenon. It returns a note for each setting that it does not import.
// https://code.claude.com/docs/en/settings describes the settings.
package claude

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// ErrSyntax is wrapped by errors about texts that are not settings files.
var ErrSyntax = errors.New("not a settings file of Claude Code")

// output holds the keys that a translation may have, in the order in which they are written.
type output struct {
	Model        string                       `json:"model,omitempty"`
	DefaultAgent string                       `json:"default_agent,omitempty"`
	Permission   []rule                       `json:"permission,omitempty"`
	MCP          map[string]sdk.MCPConfig     `json:"mcp,omitempty"`
	Hooks        map[string][]json.RawMessage `json:"hooks,omitempty"`
}

// rule is a permission rule. The last matching one decides, so the strictest are written last.
type rule struct {
	Permission string     `json:"permission"`
	Pattern    string     `json:"pattern"`
	Action     sdk.Action `json:"action"`
}

type translator struct {
	source checked.Source
	out    output
	notes  []config.Note
}

// Translate translates the text of a settings.json, or the MCP servers in the text of a .claude.json. Errors wrap ErrSyntax.
func Translate(text []byte) (*config.Translation, error) {
	t := &translator{source: checked.Source{Name: "settings", Comments: true}}
	t.out.MCP, t.out.Hooks = map[string]sdk.MCPConfig{}, map[string][]json.RawMessage{}
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
		if state && m.Name == "projects" {
			for j := range m.Value.Members {
				t.ofProject(&m.Value.Members[j])
			}
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
	case "hooks":
		t.hooks(&m.Value)
	case "mcpServers":
		t.servers(&m.Value)
	case "env":
		for i := range m.Value.Members {
			v := &m.Value.Members[i]
			t.note(v.Offset, "env."+v.Name, "not imported: commands get the variables of your shell; export %s there", v.Name)
		}
	default:
		t.note(m.Offset, m.Name, "not imported: %s", cmp.Or(reasons()[m.Name], "tenon has no such setting"))
	}
}

// ofProject adds notes on the MCP servers of one project in the state.
func (t *translator) ofProject(m *checked.Member) {
	servers := m.Value.Get("mcpServers")
	if servers == nil {
		return
	}
	for i := range servers.Members {
		server := &servers.Members[i]
		t.note(server.Offset, checked.Join(checked.Join("projects", m.Name)+".mcpServers", server.Name), "not imported: it is for one project; add it with tenon mcp add, or with --project")
	}
}

// reasons returns why known settings are not imported.
func reasons() map[string]string {
	approve := "the servers in .mcp.json are approved with tenon mcp trust NAME"
	look := "the terminal UI has its own settings"
	return map[string]string{
		"$schema":      "tenon config schema prints the schema of tenon.json",
		"apiKeyHelper": "tenon auth login anthropic stores a key", "awsAuthRefresh": "tenon uses the AWS configuration", "awsCredentialExport": "tenon uses the AWS configuration",
		"forceLoginMethod": "tenon auth login selects the method", "forceLoginOrgUUID": "tenon auth login selects the account",
		"enableAllProjectMcpServers": approve, "enabledMcpjsonServers": approve, "disabledMcpjsonServers": approve,
		"enabledPlugins": "install plugins with tenon plugin install", "extraKnownMarketplaces": "install plugins with tenon plugin install",
		"sandbox":         "commands are confined by other rules; tenon permission sandbox shows them",
		"disableAllHooks": "hook in tenon.json disables hooks", "cleanupPeriodDays": "tenon session gc removes old data",
		"includeCoAuthoredBy": "write it to AGENTS.md", "attribution": "write it to AGENTS.md", "language": "write it to AGENTS.md", "outputStyle": "write it to AGENTS.md",
		"alwaysThinkingEnabled": "--effort or variant of an agent selects the reasoning effort", "effortLevel": "--effort or variant of an agent selects the reasoning effort",
		"theme": look, "statusLine": look, "spinnerTipsEnabled": look, "verbose": look,
	}
}

func (t *translator) model(m *checked.Member) {
	if name := m.Value.Text; strings.HasPrefix(name, "claude-") {
		t.out.Model = "anthropic/" + name
		return
	}
	t.note(m.Offset, "model", "not imported: %q is not the full name of a model; tenon models anthropic --all lists them", m.Value.Text)
}

// hooks copies command hooks, whose dialect is the same.
func (t *translator) hooks(n *checked.Node) {
	events := strings.Fields("SessionStart UserPromptSubmit PreToolUse PermissionRequest PostToolUse PostToolUseFailure SubagentStart SubagentStop PreCompact PostCompact Stop SessionEnd")
	for i := range n.Members {
		event := &n.Members[i]
		if !slices.Contains(events, event.Name) {
			t.note(event.Offset, "hooks."+event.Name, "not imported: tenon has no such event")
			continue
		}
		for j := range event.Value.Items {
			if group := t.hookGroup("hooks."+event.Name, &event.Value.Items[j]); group != nil {
				t.out.Hooks[event.Name] = append(t.out.Hooks[event.Name], group)
			}
		}
	}
}

// hookGroup returns a matcher with its command hooks; nil without any.
func (t *translator) hookGroup(key string, n *checked.Node) json.RawMessage {
	var group struct {
		Matcher string           `json:"matcher,omitempty"`
		Hooks   []map[string]any `json:"hooks"`
	}
	if matcher := n.Get("matcher"); matcher != nil {
		group.Matcher = matcher.Text
	}
	hooks := n.Get("hooks")
	if hooks == nil {
		t.note(n.Offset, key, "not imported: no hooks")
		return nil
	}
	for i := range hooks.Items {
		hook := map[string]any{}
		rewake := hooks.Items[i].Get("asyncRewake")
		rewakes := rewake != nil && string(rewake.Raw) != "false"
		for _, m := range hooks.Items[i].Members {
			switch {
			case m.Name == "type", m.Name == "command":
				hook[m.Name] = m.Value.Text
			case m.Name == "timeout" && m.Value.Kind == checked.Number, m.Name == "args", m.Name == "if",
				m.Name == "async" && m.Value.Kind == checked.Bool && !rewakes:
				hook[m.Name] = m.Value.Raw
			default:
				t.note(m.Offset, key+"."+m.Name, "not imported: command hooks of tenon have no such field or value")
			}
		}
		if hook["type"] != "command" {
			t.note(hooks.Items[i].Offset, key, "not imported: only hooks of type command can be translated, not %v", hook["type"])
			continue
		}
		group.Hooks = append(group.Hooks, hook)
	}
	raw, err := json.Marshal(group)
	if err != nil || len(group.Hooks) == 0 {
		return nil
	}
	return raw
}

package opencode

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/npm"
	"github.com/tenonhq/tenon/sdk"
)

// dropped returns the reason why a key is removed; empty for keys that stay.
func dropped(schema string) string {
	switch schema {
	case "$schema":
		return "not imported: it describes opencode.json; tenon config schema prints the one of tenon.json"
	case "retry", "tool_search", "plugins", "hooks", "hook", "mcp.*.hooks":
		return "not imported: opencode has no such key, and here it would have an effect"
	case "skills.urls":
		return "not imported: nothing is downloaded at start; put the skill into .tenon/skills"
	}
	if text := config.Unsupported(schema); text != "" {
		return "not imported: " + text
	}
	return ""
}

// rules find the values that tenon does not accept.
type rules struct {
	checked.NoRules
	c    checked.Checker
	left map[string]string // reasons for removals, by key
}

// Own removes permission rules without an action. Both programs have the same forms of rules.
func (r *rules) Own(p checked.Place, n *checked.Node, t reflect.Type) (value any, ok, own bool) {
	if t != reflect.TypeFor[sdk.PermissionRules]() {
		return nil, false, false
	}
	r.actions(p, n, 2) // by permission and pattern
	return nil, true, true
}

// actions removes values that are neither actions nor objects with actions, nested at most depth levels.
func (r *rules) actions(p checked.Place, n *checked.Node, depth int) {
	switch {
	case n.Kind == checked.Object && depth > 0:
		r.c.Each(p, n, func(at checked.Place, _ string, n *checked.Node) { r.actions(at, n, depth-1) })
	case n.Kind != checked.String:
		r.c.Mismatch(p, "an action (allow, ask or deny)", n)
	default:
		if message, _ := checked.OneOf(n.Text, string(sdk.ActionAllow), string(sdk.ActionAsk), string(sdk.ActionDeny)); message != "" {
			r.c.Bad(p, message, "")
		}
	}
}

// servers removes incomplete MCP servers from a configuration that was checked.
func (r *rules) servers(configuration any) {
	top, _ := configuration.(map[string]any)
	servers, _ := top["mcp"].(map[string]any)
	for name, value := range servers {
		member, _ := value.(map[string]any)
		var server sdk.MCPConfig
		server.Type, _ = member["type"].(string)
		server.URL, _ = member["url"].(string)
		command, _ := member["command"].([]any)
		server.Command = make([]string, len(command)) // their number counts
		if enabled, ok := member["enabled"].(bool); ok {
			server.Enabled = &enabled
		}
		if message, _ := config.CheckServer(&server); message != "" {
			key := checked.Join("mcp", name)
			r.left[key] = cmp.Or(r.left[checked.Join(key, "type")], "not imported: "+message)
		}
	}
}

// Member removes keys that tenon does not have.
func (r *rules) Member(p checked.Place, _ string, _ bool, _ *checked.Node, _ map[string]any) bool {
	reason := dropped(p.Schema)
	if reason != "" {
		r.left[p.Key] = reason
	}
	return reason != ""
}

// Constrain returns the reason why a value is removed.
func (*rules) Constrain(p checked.Place, value any) (kept any, message, remedy string) {
	text, _ := value.(string)
	switch {
	case p.Schema == "instructions[]" && (strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")):
		return value, "instructions are not fetched from the web; save it to a file and name that", ""
	case p.Schema == "provider.*.npm" && npm.Protocol(text) == "":
		return value, "no package is installed here, and no protocol is known for this one; set protocol to one of " + strings.Join(npm.Formats(), ", "), ""
	}
	return config.Constrain(p.Schema, value)
}

// rewriteModes converts the modes of older files to agents, and unknown keys of an agent to options, as opencode does.
func rewriteModes(root *hujson.Value) {
	object := root.Value.(*hujson.Object)
	if modes := take(object, "mode"); modes != nil {
		agents := objectAt(object, "agent")
		for _, m := range membersOf(modes) {
			name := nameOf(&m)
			if mode, ok := m.Value.Value.(*hujson.Object); ok && find(mode, "mode") == nil {
				mode.Members = append(mode.Members, hujson.ObjectMember{Name: text("mode"), Value: text(sdk.ModePrimary)})
			}
			if find(agents, name) == nil {
				agents.Members = append(agents.Members, m)
			}
		}
	}
	for _, m := range membersOf(find(object, "agent")) {
		agent, ok := m.Value.Value.(*hujson.Object)
		if !ok {
			continue
		}
		var own []hujson.ObjectMember
		kept := agent.Members[:0]
		for _, member := range agent.Members {
			name := nameOf(&member)
			if _, known := fieldOf(reflect.TypeFor[sdk.AgentConfig](), name); known || name == "name" {
				kept = append(kept, member)
			} else {
				own = append(own, member)
			}
		}
		if agent.Members = kept; len(own) > 0 {
			options := objectAt(agent, "options")
			options.Members = append(options.Members, own...)
		}
	}
}

// afterwards adds a note on differences without a key.
func (t *translator) afterwards() {
	t.note(0, "", `opencode runs commands and changes files unless a rule forbids it; tenon asks unless a rule allows it: see "permission"`)
}

func nameOf(m *hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

func text(s string) hujson.Value { return hujson.Value{Value: hujson.String(s)} }

func membersOf(v *hujson.Value) []hujson.ObjectMember {
	if v == nil {
		return nil
	}
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	return object.Members
}

// find returns the value of the last member with the name, which is the one that counts; nil for none.
func find(object *hujson.Object, name string) *hujson.Value {
	for i := len(object.Members) - 1; i >= 0; i-- {
		if nameOf(&object.Members[i]) == name {
			return &object.Members[i].Value
		}
	}
	return nil
}

// take removes the members with the name and returns the last one's value.
func take(object *hujson.Object, name string) *hujson.Value {
	var out *hujson.Value
	var kept []hujson.ObjectMember
	for _, m := range object.Members {
		if nameOf(&m) == name {
			out = &m.Value
			continue
		}
		kept = append(kept, m)
	}
	object.Members = kept
	return out
}

// objectAt returns the object with the name, which it adds if it is missing.
func objectAt(object *hujson.Object, name string) *hujson.Object {
	if v := find(object, name); v != nil {
		if inner, ok := v.Value.(*hujson.Object); ok {
			return inner
		}
	}
	inner := &hujson.Object{}
	object.Members = append(object.Members, hujson.ObjectMember{Name: text(name), Value: hujson.Value{Value: inner}})
	return inner
}

package opencode

import (
	"reflect"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/sdk"
)

// dropped returns the reason why a key is removed although tenon has it; empty for other keys.
func dropped(key string) string {
	switch key {
	case "$schema":
		return "it describes opencode.json; tenon config schema prints the one of tenon.json"
	case "retry", "tool_search", "plugins", "hooks", "hook":
		return noSuchKey
	case "skills.urls":
		return "nothing is downloaded at start; put the skill into .tenon/skills"
	}
	if serverHooks().MatchString(key) {
		return noSuchKey
	}
	return ""
}

const noSuchKey = "opencode has no such key, and here it would have an effect"

// serverHooks matches the key of the hooks of an MCP server.
var serverHooks = lazyregexp.New(`^mcp\.(?:"(?:[^"\\]|\\.)*"|[^."]+)\.hooks$`)

// rewriteModes converts the modes of older files to agents, and unknown keys of an agent to options, as opencode does.
func rewriteModes(root *hujson.Value) {
	object := root.Value.(*hujson.Object)
	if modes := take(object, "mode"); modes != nil {
		agents := objectAt(object, "agent")
		for _, m := range membersOf(modes) {
			mode, ok := m.Value.Value.(*hujson.Object)
			if !ok {
				agents.Members = append(agents.Members, m)
				continue
			}
			take(mode, "mode")
			mode.Members = append(mode.Members, hujson.ObjectMember{Name: text("mode"), Value: text(sdk.ModePrimary)})
			merge(objectAt(agents, nameOf(&m)), mode)
		}
	}
	for _, m := range membersOf(find(object, "agent")) {
		agent, ok := m.Value.Value.(*hujson.Object)
		if !ok {
			continue
		}
		fields := checked.FieldsOf(reflect.TypeFor[sdk.AgentConfig]())
		var own []hujson.ObjectMember
		agent.Members = slices.DeleteFunc(agent.Members, func(m hujson.ObjectMember) bool {
			_, known := fields.Types[nameOf(&m)]
			if known = known || nameOf(&m) == "name"; !known {
				own = append(own, m)
			}
			return !known
		})
		if len(own) > 0 {
			options := objectAt(agent, "options")
			options.Members = append(options.Members, own...)
		}
	}
}

func nameOf(m *hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

func text(s string) hujson.Value { return hujson.Value{Value: hujson.String(s)} }

// merge adds the members of from to into: objects are merged, and other values replace those of into, in their places, because the order of rules
// matters.
func merge(into, from *hujson.Object) {
	for _, m := range from.Members {
		old := find(into, nameOf(&m))
		if old == nil {
			into.Members = append(into.Members, m)
			continue
		}
		below, nested := old.Value.(*hujson.Object)
		if inner, ok := m.Value.Value.(*hujson.Object); ok && nested {
			merge(below, inner)
		} else {
			old.Value = m.Value.Value
		}
	}
}

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
func take(object *hujson.Object, name string) (out *hujson.Value) {
	object.Members = slices.DeleteFunc(object.Members, func(m hujson.ObjectMember) bool {
		if nameOf(&m) != name {
			return false
		}
		out = &m.Value
		return true
	})
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

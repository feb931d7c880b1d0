package config

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/toolname"
	"github.com/tenonhq/tenon/sdk"
)

// permission reads the three forms of permission rules, in their order. It sets the origin of each rule.
func (c *checker) permission(p place, n *checked.Node) (any, bool) {
	var rules sdk.PermissionRules
	add := func(at place, permission, pattern string, n *checked.Node) {
		if action, ok := c.action(at, n); ok {
			rules = append(rules, c.rule(at, permission, pattern, action))
		}
	}
	switch n.Kind {
	case checked.List:
		rules = c.ruleList(p, n)
	case checked.Object:
		c.Each(p, n, func(at place, permission string, n *checked.Node) {
			c.warnPermission(at, permission)
			if n.Kind != checked.Object {
				add(at, permission, "*", n)
				return
			}
			c.Each(at, n, func(at place, pattern string, n *checked.Node) { add(at, permission, pattern, n) })
		})
	case checked.String:
		add(p, "*", "*", n)
	default:
		return nil, c.Mismatch(p, "an action (allow, ask or deny) or an object", n)
	}
	c.Set(p)
	return rules, true
}

func (c *checker) ruleList(p place, list *checked.Node) sdk.PermissionRules {
	var rules sdk.PermissionRules
	for i := range list.Items {
		n := &list.Items[i]
		at := p.Element(i, n.Offset)
		value, ok := c.Struct(at, n, reflect.TypeFor[sdk.PermissionRule]())
		if !ok {
			continue
		}
		text := func(name string) string { s, _ := value.(map[string]any)[name].(string); return s }
		action, ok := c.actionNamed(at, text("action"))
		if !ok {
			continue
		}
		if text("permission") == "" || text("pattern") == "" {
			c.Bad(at, "a rule needs permission and pattern", `"*" stands for any`)
			continue
		}
		c.warnPermission(at, text("permission"))
		rules = append(rules, c.rule(at, text("permission"), text("pattern"), action))
	}
	return rules
}

// knownPermissions returns the permissions of tenon and its tools, and those of opencode with similar names; tools of plugins and MCP servers have
// others.
var knownPermissions = sync.OnceValue(func() []string {
	known := []string{"todoread", "websearch"}
	for _, r := range permission.Defaults() {
		if r.Permission != "*" {
			known = append(known, r.Permission)
		}
	}
	return known
})

// warnPermission warns of rules for tools that change files, whose permission is edit, and of names that are probably misspelled. These are
// warnings because an unknown tool of a plugin or MCP server may have such a name.
func (c *checker) warnPermission(p place, name string) {
	known := knownPermissions()
	switch {
	case toolname.Permission(name) != name:
		c.Warn(p, "has no effect: the permission for tools that change files is edit", `use "edit"`)
	case strings.ContainsAny(name, "*?") || slices.Contains(known, name):
	case nearest.Name(name, known) != "":
		c.Warn(p, "unknown permission; it applies only if a plugin or MCP server has a tool with this name",
			`did you mean "`+nearest.Name(name, known)+`"?`)
	}
}

func (c *checker) rule(p place, permission, pattern string, action sdk.Action) sdk.PermissionRule {
	return sdk.PermissionRule{Permission: permission, Pattern: pattern, Action: action, Origin: c.src.originAt(p.Offset).String()}
}

func (c *checker) action(p place, n *checked.Node) (sdk.Action, bool) {
	if n.Kind != checked.String {
		return "", c.Mismatch(p, "an action (allow, ask or deny)", n)
	}
	text, ok := c.expand(p, n.Text)
	if !ok {
		return "", false
	}
	return c.actionNamed(p, text)
}

func (c *checker) actionNamed(p place, name string) (sdk.Action, bool) {
	message, remedy := checked.OneOf(name, string(sdk.ActionAllow), string(sdk.ActionAsk), string(sdk.ActionDeny))
	if message != "" {
		return "", c.Bad(p, message, remedy)
	}
	return sdk.Action(name), true
}

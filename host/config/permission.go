package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/sdk"
)

// permission reads the three forms of permission rules in the order they are written. Each rule is told where it
// stands.
func (c *checker) permission(p place, v hujson.Value) (any, bool) {
	var rules sdk.PermissionRules
	switch value := v.Value.(type) {
	case *hujson.Array:
		rules = c.ruleList(p, value)
	case *hujson.Object:
		c.members(p, v, func(at place, name string, v hujson.Value, _ map[string]any) {
			rules = append(rules, c.patterns(at, name, v)...)
		})
	default:
		if v.Value.Kind() != '"' {
			return nil, c.mismatch(p, "an action (allow, ask or deny) or an object", v)
		}
		if action, ok := c.action(p, v); ok {
			rules = sdk.PermissionRules{c.rule(p, "*", "*", action)}
		}
	}
	c.set(p)
	return rules, true
}

// patterns reads what stands under one permission: an action, or an action for each pattern.
func (c *checker) patterns(p place, permission string, v hujson.Value) sdk.PermissionRules {
	c.warnPermission(p, permission)
	if _, ok := v.Value.(*hujson.Object); !ok {
		action, ok := c.action(p, v)
		if !ok {
			return nil
		}
		return sdk.PermissionRules{c.rule(p, permission, "*", action)}
	}
	var rules sdk.PermissionRules
	c.members(p, v, func(at place, pattern string, v hujson.Value, _ map[string]any) {
		if action, ok := c.action(at, v); ok {
			rules = append(rules, c.rule(at, permission, pattern, action))
		}
	})
	return rules
}

func (c *checker) ruleList(p place, array *hujson.Array) sdk.PermissionRules {
	var rules sdk.PermissionRules
	for i, e := range array.Elements {
		at := p.element(i, e.StartOffset)
		value, ok := c.fieldsOf(at, e, reflect.TypeFor[sdk.PermissionRule]())
		if !ok {
			continue
		}
		text := func(name string) string { s, _ := value.(map[string]any)[name].(string); return s }
		action, ok := c.actionNamed(at, text("action"))
		if !ok {
			continue
		}
		if text("permission") == "" || text("pattern") == "" {
			c.bad(at, "a rule needs permission and pattern", `"*" stands for any`)
			continue
		}
		c.warnPermission(at, text("permission"))
		rules = append(rules, c.rule(at, text("permission"), text("pattern"), action))
	}
	return rules
}

// permissions are those of tenon and its tools; tools of plugins and MCP servers have others. See docs/permissions.md.
const permissions = "read glob grep list skill task todowrite todoread question edit bash webfetch sampling " +
	sdk.PermissionExternalDirectory + " " + sdk.PermissionDoomLoop

// warnPermission warns of rules for tools that change files, which are all decided under edit, and of names that are most likely
// slips. They are no errors: a tool of a plugin or MCP server, which is not known here, can have such a name.
func (c *checker) warnPermission(p place, permission string) {
	known := strings.Fields(permissions)
	switch {
	case slices.Contains([]string{"write", "patch", "multiedit", "apply_patch"}, permission):
		c.report.warn(c.src.at(p.offset, p.key, "has no effect: tools that change files are decided under edit", `use "edit"`))
	case strings.ContainsAny(permission, "*?") || slices.Contains(known, permission):
	case nearest.Name(permission, known) != "":
		c.report.warn(c.src.at(p.offset, p.key, "no permission of tenon; it has an effect only if a plugin or MCP server has a tool of this name",
			`did you mean "`+nearest.Name(permission, known)+`"?`))
	}
}

func (c *checker) rule(p place, permission, pattern string, action sdk.Action) sdk.PermissionRule {
	return sdk.PermissionRule{Permission: permission, Pattern: pattern, Action: action, Origin: c.src.origin(p.offset).String()}
}

func (c *checker) action(p place, v hujson.Value) (sdk.Action, bool) {
	if v.Value.Kind() != '"' {
		return "", c.mismatch(p, "an action (allow, ask or deny)", v)
	}
	return c.actionNamed(p, c.expand(p, v.Value.(hujson.Literal).String()))
}

func (c *checker) actionNamed(p place, name string) (sdk.Action, bool) {
	known := []string{string(sdk.ActionAllow), string(sdk.ActionAsk), string(sdk.ActionDeny)}
	for _, k := range known {
		if name == k {
			return sdk.Action(name), true
		}
	}
	message := fmt.Sprintf("want allow, ask or deny, have %.40q", name)
	remedy := ""
	if best := nearest.Name(name, known); best != "" {
		remedy = `did you mean "` + best + `"?`
	}
	return "", c.bad(p, message, remedy)
}

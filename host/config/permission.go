package config

import (
	"fmt"
	"reflect"

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
	c.warnFileTool(p, permission)
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
		c.warnFileTool(at, text("permission"))
		rules = append(rules, c.rule(at, text("permission"), text("pattern"), action))
	}
	return rules
}

// warnFileTool warns of rules for tools that change files: they are all decided under edit.
func (c *checker) warnFileTool(p place, permission string) {
	switch permission {
	case "write", "patch", "multiedit", "apply_patch":
		c.report.warn(c.src.at(p.offset, p.key, "has no effect: tools that change files are decided under edit", `use "edit"`))
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

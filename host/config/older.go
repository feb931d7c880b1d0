package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/npm"
	"github.com/tenonhq/tenon/internal/toolname"
	"github.com/tenonhq/tenon/sdk"
)

// Member reads members of older forms, which lower replaces, and warns of members without effect.
func (c *checker) Member(p place, name string, isField bool, n *checked.Node, out map[string]any) bool {
	switch p.Schema {
	case "tools", "agent.*.tools":
		var rules sdk.PermissionRules
		c.Each(p, n, func(at place, tool string, n *checked.Node) {
			action := sdk.ActionDeny
			if enabled, ok := c.Leaf(at, n, reflect.TypeFor[bool]()); !ok {
				return
			} else if enabled == true {
				action = sdk.ActionAllow
			}
			c.warnPermission(at, toolname.Permission(tool))
			rules = append(rules, c.rule(at, toolname.Permission(tool), "*", action))
		})
		out[name] = rules
		return true
	case "mode":
		c.Bad(p, "older key of opencode", `move its agents to "agent" and add "mode": "primary"; tenon import opencode does so`)
		return true
	case "mcpServers":
		c.Bad(p, "key of the file .mcp.json", "move it to .mcp.json in the project, or add each server with tenon mcp add")
		return true
	}
	if text := unsupported(p.Schema); text != "" && !isField {
		c.Warn(p, text, "")
		return true
	}
	return false
}

// lowerTools puts the rules of "tools" before the rules of "permission".
func lowerTools(_ string, object map[string]any) {
	rules, _ := object["tools"].(sdk.PermissionRules)
	delete(object, "tools")
	if rules != nil {
		newer, _ := object["permission"].(sdk.PermissionRules)
		object["permission"] = append(rules, newer...)
	}
}

// lower replaces older names in a layer by the current ones, which take precedence in the same layer.
func (c *checker) lower(layer tree) {
	lowerTools("", layer)
	eachObject(layer["agent"], lowerTools)
	eachObject(layer["provider"], func(name string, provider map[string]any) {
		key := checked.Join("provider", name)
		c.lowerProtocol(key, provider)
		api, ok := provider["api"]
		if !ok {
			return
		}
		delete(provider, "api")
		options, ok := provider["options"].(map[string]any)
		if !ok {
			options = map[string]any{}
			provider["options"] = options
		}
		if _, ok := options["baseURL"]; !ok {
			options["baseURL"] = api
			c.origins[key+".options.baseURL"] = c.origins[key+".api"]
			if more, ok := c.borrowed[key+".api"]; ok {
				c.borrowed[key+".options.baseURL"] = more
			}
		}
	})
}

// lowerProtocol sets the protocol of a provider that has only the name of an npm package. Nothing is installed: the name selects the server's
// dialect.
func (c *checker) lowerProtocol(key string, provider map[string]any) {
	name, ok := provider["npm"].(string)
	if !ok {
		return
	}
	at := c.origins[checked.Join(key, "npm")]
	if _, ok := provider["protocol"]; ok {
		return
	}
	protocol := npm.Protocol(name)
	if protocol == "" {
		delete(provider, "npm")
		c.Report.Add(c.problem(checked.Join(key, "npm"), at, fmt.Sprintf("npm packages are not installed, and no protocol is known for %.60q", name),
			"set protocol to one of "+strings.Join(npm.Formats(), ", ")))
		return
	}
	provider["protocol"] = protocol
	c.origins[checked.Join(key, "protocol")] = at
}

func eachObject(objects any, f func(name string, object map[string]any)) {
	all, _ := objects.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if object, ok := all[name].(map[string]any); ok {
			f(name, object)
		}
	}
}

// NoEffect is the warning for keys of opencode that tenon does not have.
const NoEffect = "tenon has no such setting"

// unsupported returns the warning for a key of opencode without effect; empty for other keys.
func unsupported(schema string) string {
	switch schema {
	case "plugin":
		return `plugins of opencode run in a package: see tenon docs plugin-opencode; "plugins" lists tenon's`
	case "share", "autoshare", "autoupdate", "formatter", "lsp", "keybinds", "theme", "tui", "layout", "server",
		"watcher", "references", "reference", "attachment", "enterprise", "disable_paste_summary",
		"experimental.openTelemetry", "experimental.primary_tools", "experimental.batch_tool",
		"experimental.disable_paste_summary", "experimental.policies", "experimental.chatMaxRetries", "experimental.hook",
		"provider.*.id",
		"provider.*.models.*.last_updated", "provider.*.models.*.knowledge",
		"provider.*.models.*.open_weights", "provider.*.models.*.experimental",
		"agent.*.name", "mcp.*.name":
		return NoEffect
	}
	return ""
}

package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/tenonhq/tenon/internal/npm"
	"github.com/tenonhq/tenon/sdk"
)

// olderForms are values of one object that newer keys replace.
type olderForms struct {
	rules sdk.PermissionRules // from "tools"
	modes map[string]any      // from "mode"
}

// older reads a member that has an older form. It returns false for all others.
func (c *checker) older(o *olderForms, at place, v hujson.Value) bool {
	switch at.schema {
	case "tools", "agent.*.tools":
		c.members(at, v, func(at place, tool string, v hujson.Value, _ map[string]any) {
			if enabled, ok := c.leaf(at, v, reflect.TypeFor[bool]()); ok {
				o.rules = append(o.rules, c.toolRule(at, tool, enabled.(bool)))
			}
		})
		return true
	case "mode":
		// The values are agents, so everything below has the key and the rules of an agent.
		agents := place{key: "agent", schema: "agent", offset: at.offset, depth: at.depth}
		value, ok := c.object(agents, v, reflect.TypeFor[sdk.AgentConfig]())
		if !ok {
			return true
		}
		o.modes = value.(map[string]any)
		eachObject(o.modes, func(name string, agent map[string]any) {
			if _, ok := agent["mode"]; !ok {
				agent["mode"] = sdk.ModePrimary
				c.origins[member(member("agent", name), "mode")] = c.src.origin(at.offset)
			}
		})
		return true
	}
	return false
}

// addTo puts the older forms under what the newer keys of the same object say.
func (o *olderForms) addTo(object map[string]any) {
	if o.rules != nil {
		rules, _ := object["permission"].(sdk.PermissionRules)
		object["permission"] = append(o.rules, rules...)
	}
	if o.modes == nil {
		return
	}
	agents, ok := object["agent"].(map[string]any)
	if !ok {
		object["agent"] = o.modes
		return
	}
	for name, mode := range o.modes {
		agent, ok := agents[name].(map[string]any)
		if !ok {
			agents[name] = mode
			continue
		}
		rules, _ := mode.(map[string]any)["permission"].(sdk.PermissionRules)
		newer, _ := agent["permission"].(sdk.PermissionRules)
		mergeUnder(mode.(map[string]any), agent)
		if rules != nil {
			agent["permission"] = slices.Concat(rules, newer)
		}
	}
}

// mergeUnder adds to object what only the older one says.
func mergeUnder(older, object map[string]any) {
	for name, value := range older {
		before, ok := object[name]
		if !ok {
			object[name] = value
			continue
		}
		a, okA := value.(map[string]any)
		b, okB := before.(map[string]any)
		if okA && okB {
			mergeUnder(a, b)
		}
	}
}

func (c *checker) toolRule(p place, tool string, enabled bool) sdk.PermissionRule {
	action := sdk.ActionDeny
	if enabled {
		action = sdk.ActionAllow
	}
	switch tool {
	case "write", "edit", "patch", "multiedit":
		tool = "edit"
	}
	return c.rule(p, tool, "*", action)
}

// lower replaces older names in a layer by the ones the code knows. A newer name in the same layer wins.
func (c *checker) lower(layer tree) {
	eachObject(layer["agent"], func(name string, agent map[string]any) {
		c.rename(member("agent", name), agent, "maxSteps", "steps")
	})
	eachObject(layer["provider"], func(name string, provider map[string]any) {
		key := member("provider", name)
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
			c.origins[key+".options.baseURL"] = c.origins[member(key, "api")]
		}
	})
}

// lowerProtocol sets the protocol of a provider that has only the name of an npm package. Nothing is installed: the name selects the
// dialect of the server.
func (c *checker) lowerProtocol(key string, provider map[string]any) {
	name, ok := provider["npm"].(string)
	if !ok {
		return
	}
	at := c.origins[member(key, "npm")]
	if _, ok := provider["protocol"]; ok {
		return
	}
	protocol := npm.Protocol(name)
	if protocol == "" {
		delete(provider, "npm")
		c.report.problem(Problem{
			File: c.src.show, Line: at.Line, Column: at.Column, Key: member(key, "npm"),
			Message: fmt.Sprintf("npm packages are not installed, and no protocol is known for %.60q", name),
			Remedy:  "set protocol to one of " + strings.Join(npm.Formats(), ", "),
		})
		return
	}
	provider["protocol"] = protocol
	c.origins[member(key, "protocol")] = at
}

func (c *checker) rename(key string, object map[string]any, older, newer string) {
	value, ok := object[older]
	if !ok {
		return
	}
	delete(object, older)
	if _, ok := object[newer]; !ok {
		object[newer] = value
		c.origins[member(key, newer)] = c.origins[member(key, older)]
	}
}

func eachObject(objects any, f func(name string, object map[string]any)) {
	all, _ := objects.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if object, ok := all[name].(map[string]any); ok {
			f(name, object)
		}
	}
}

// unsupported returns what to say about a key of opencode that has no effect here, and "" for all others.
func unsupported(schema string) string {
	const noEffect = "not supported, has no effect"
	switch schema {
	case "plugin":
		return `plugins of opencode are JavaScript and cannot run here; "plugins" lists those of tenon`
	case "share", "autoshare", "autoupdate", "formatter", "lsp", "keybinds", "theme", "tui", "layout", "server",
		"watcher", "references", "reference", "attachment", "enterprise", "disable_paste_summary",
		"experimental.openTelemetry", "experimental.primary_tools", "experimental.batch_tool",
		"experimental.disable_paste_summary", "experimental.policies", "experimental.chatMaxRetries", "experimental.hook",
		"provider.*.id",
		"provider.*.models.*.release_date", "provider.*.models.*.last_updated", "provider.*.models.*.knowledge",
		"provider.*.models.*.open_weights", "provider.*.models.*.family", "provider.*.models.*.experimental",
		"agent.*.name", "mcp.*.name":
		return noEffect
	}
	return ""
}

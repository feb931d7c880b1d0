package trust

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// Request lists the rights and contributions of an item. The user sees it before approval, and it bounds the item afterwards.
type Request struct {
	Carrier      sdk.Carrier      `json:"carrier,omitempty"`
	Command      []string         `json:"command,omitempty"` // of a process: its command in the manifest
	Capabilities []sdk.Capability `json:"capabilities,omitempty"`
	Hooks        []Hook           `json:"hooks,omitempty"`
	Tools        []string         `json:"tools,omitempty"`
	// Leave has a line for each tool whose permission is not its own id: the permission, or that the plugin names one for each call.
	Leave     []string `json:"leave,omitempty"`
	Providers []string `json:"providers,omitempty"`
	Protocols []string `json:"protocols,omitempty"`
	// Replaces names the built-ins that it replaces: "tool bash", "provider openai".
	Replaces []string `json:"replaces,omitempty"`
	MemoryMB int      `json:"memory,omitempty"` // of one instance of a module, in MiB; 0: the default
	Agents   []string `json:"agents,omitempty"`
	Commands []string `json:"commands,omitempty"`
	Skills   []string `json:"skills,omitempty"`
	// Servers are MCP servers, CommandHooks commands run at events: one line each with the command or address.
	Servers      []string `json:"servers,omitempty"`
	CommandHooks []string `json:"commandHooks,omitempty"`
	// Undescribed marks a plugin that lists its contributions only when it runs. The user is asked again then.
	Undescribed bool `json:"undescribed,omitempty"`
}

// Hook is a hook as far as the user decides about it. Its policy, timeout and order are shown but not compared.
type Hook struct {
	sdk.HookDescription
	// Right is a right of the hook beyond its fields. It counts as requested: approvals from before rights existed do not cover it.
	Right Right `json:"right,omitempty"`
}

// Right is a right that is as good as the user's own.
type Right string

// The rights of hooks.
const (
	RightCommands Right = "can run commands"
	RightKeys     Right = "can read your keys"
	RightSettings Right = "can change what tenon does"
)

// RightOf returns the right that comes with a hook which writes these fields; empty for none.
func RightOf(point sdk.Point, writes []string) Right {
	switch {
	case point == sdk.PointPermissionAsk:
		return RightCommands // calls it allows need no approval
	case len(writes) == 0:
		return ""
	}
	switch point {
	case sdk.PointShellEnv, sdk.PointCommand, sdk.PointToolBefore:
		return RightCommands
	case sdk.PointChatHeaders:
		return RightKeys
	case sdk.PointConfig:
		return RightSettings
	}
	return ""
}

// Change is an entry of only one of two requests.
type Change struct {
	Added bool   `json:"added"`
	Kind  string `json:"kind"` // carrier, command, capability, hook, tool, leave, …
	Text  string `json:"text"`
}

// Diff compares two requests.
func Diff(before, now Request) []Change {
	old, fresh := before.asks(), now.asks()
	var out []Change
	for _, c := range fresh {
		if !slices.Contains(old, c) {
			c.Added = true
			out = append(out, c)
		}
	}
	for _, c := range old {
		if !slices.Contains(fresh, c) {
			out = append(out, c)
		}
	}
	return out
}

// asks splits a request into comparable entries.
func (r *Request) asks() []Change {
	var out []Change
	add := func(kind, text string) { out = append(out, Change{Kind: kind, Text: text}) }
	if r.Carrier != "" {
		add("carrier", string(r.Carrier))
	}
	if len(r.Command) > 0 {
		add("command", fmt.Sprintf("%q", r.Command))
	}
	for _, c := range r.Capabilities {
		if len(c.Scope) == 0 {
			add("capability", c.Name)
		}
		for _, s := range c.Scope {
			add("capability", c.Name+": "+s)
		}
	}
	for _, h := range r.Hooks {
		add("hook", h.Label())
		if h.Right != "" {
			add("hook", h.Label()+" "+string(h.Right))
		}
		for _, f := range h.Reads {
			add("hook", h.Label()+" reads "+field(f))
		}
		for _, f := range h.Writes {
			add("hook", h.Label()+" changes "+field(f))
		}
	}
	for _, list := range []struct {
		kind  string
		names []string
	}{
		{"tool", r.Tools}, {"leave", r.Leave}, {"provider", r.Providers}, {"protocol", r.Protocols}, {"agent", r.Agents}, {"command", r.Commands},
		{"replaces", r.Replaces}, {"skill", r.Skills}, {"MCP server", r.Servers}, {"command hook", r.CommandHooks},
	} {
		for _, name := range list.names {
			add(list.kind, name)
		}
	}
	return out
}

// Label names the hook: its point, with its name where it has another.
func (h Hook) Label() string { return hookpoint.Label(sdk.Point(h.Point), h.Name) }

func field(pointer string) string {
	return cmp.Or(pointer, "everything")
}

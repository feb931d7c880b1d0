package trust

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/requestfield"
	"github.com/tenonhq/tenon/sdk"
)

// Kind is the kind of an item.
type Kind string

// The kinds of items.
const (
	KindPlugin Kind = "plugin" // a package, a module or an executable
	KindServer Kind = "mcp"    // an MCP server that the configuration of a repository names
	KindHooks  Kind = "hooks"  // command hooks of the configuration of a repository
)

// Item is a candidate to run.
type Item struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	// Source is its origin: the absolute path of a plugin, links resolved, otherwise of the file that defines it. An approval is valid
	// for one source.
	Source  string  `json:"source"`
	Digest  Digest  `json:"digest"`
	Version string  `json:"version,omitempty"`
	Request Request `json:"request"`
}

// same reports whether two items share one approval, whatever their content. A plugin is identified by its path, since it chooses its name
// itself.
func (i Item) same(o Item) bool {
	return o.Kind == i.Kind && o.Source == i.Source && (i.Kind == KindPlugin || o.Name == i.Name)
}

// equal reports whether two items have one approval and the same content.
func (i Item) equal(o Item) bool { return i.same(o) && o.Digest == i.Digest }

// NewItem returns an item that a file defines, an MCP server or a block of command hooks, with its digest. That covers the canonical JSON of
// the definition and the files that it starts and depends on, which LocalFiles finds.
func NewItem(ctx context.Context, i Item, definition any, files []string) (Item, error) {
	var err error
	if i.Digest, err = i.digestOf(ctx, definition, files); err != nil {
		return Item{}, fmt.Errorf("%s %q of %s: %w", i.Kind, i.Name, i.Source, err)
	}
	return i, nil
}

func (i Item) digestOf(ctx context.Context, definition any, files []string) (Digest, error) {
	content, err := jsontext.Canonical(definition)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "tenon definition 1\n%s %q %d\n%s\n", i.Kind, i.Name, len(content), content)
	for _, path := range slices.Sorted(slices.Values(files)) {
		t, err := ReadTree(ctx, path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%q %s\n", path, t.Digest())
	}
	return sum(b.Bytes()), nil
}

// notRequested returns the first grant that was not requested; "" if all were.
func notRequested(asked, granted []sdk.Capability) string {
	for _, g := range granted {
		i := slices.IndexFunc(asked, func(a sdk.Capability) bool { return a.Name == g.Name })
		if i < 0 {
			return g.Name
		}
		if len(g.Scope) == 0 && len(asked[i].Scope) > 0 {
			return g.Name + " without a scope"
		}
		for _, s := range g.Scope {
			if !slices.Contains(asked[i].Scope, s) {
				return g.Name + ": " + s
			}
		}
	}
	return ""
}

// Why is the reason for which an item needs approval.
type Why string

// The reasons.
const (
	WhyNew     Why = "new"     // nothing was approved at this path
	WhyChanged Why = "changed" // its content changed
	WhyGrown   Why = "grown"   // it requests more than was approved
)

// Decision is the user's decision about an item.
type Decision struct {
	Approved bool
	Grants   []sdk.Capability // rights of an approved item
	Disabled bool             // the user disabled the item at this path, or with an older version everywhere by its name
	Reason   string           // why it is disabled
	// Quarantined is the reason why its hooks are not called; empty if they are. It applies to this content at this path.
	Quarantined string
	Failures    map[string]int // in a row, by hook, in the runs before
	// The following fields are for an item that needs approval.
	Why      Why
	Previous *Entry   // the earlier approval at this path; nil if none
	Changes  []Change // changes since that approval
	// Undescribed marks an item whose requests are not known yet: Changes are incomplete.
	Undescribed bool
	// Withheld are the names of capabilities that it requests and that the user did not grant to the content before.
	Withheld []string
}

// Check reports whether an item may run: its content was approved at its path, and it requests nothing beyond the approval.
func (e Entries) Check(i Item) Decision {
	d := Decision{Why: WhyNew}
	var withheld []string
	for _, old := range e { // finds the approval of this content, else the latest one of other content
		if !i.same(old.Item) {
			continue
		}
		if d.Previous == nil || !i.equal(d.Previous.Item) {
			d = old.check(i)
		}
		if !old.Request.Undescribed {
			withheld = nil
		}
		withheld = append(withheld, old.withheld()...)
	}
	for _, asked := range i.Request.Capabilities {
		if slices.Contains(withheld, asked.Name) {
			d.Withheld = append(d.Withheld, asked.Name)
		}
	}
	if at := slices.IndexFunc(e, func(old Entry) bool { return old.everywhere() && old.Name == i.Name }); at >= 0 {
		d.Disabled, d.Reason = true, e[at].Reason
	}
	return d
}

// check compares an item with the approval at its path.
func (old Entry) check(i Item) Decision {
	same := old.Digest == i.Digest
	d := Decision{Previous: &old, Changes: Diff(old.Request, i.Request), Undescribed: i.Request.Undescribed, Disabled: old.Disabled, Reason: old.Reason}
	if old.Name != i.Name {
		d.Changes = append([]Change{{true, "name", i.Name}, {false, "name", old.Name}}, d.Changes...)
	}
	if same {
		d.Quarantined, d.Failures = old.Quarantined, old.Failures
	}
	grown := slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Added })
	switch {
	case same && !grown:
		d.Approved, d.Grants, d.Changes, d.Undescribed = true, slices.Clone(old.Grants), nil, false
	case grown:
		d.Why = WhyGrown
	default:
		d.Why = WhyChanged
	}
	return d
}

// Request lists the rights and contributions of an item. The user sees it before approval, and it bounds the item afterwards.
type Request struct {
	Carrier      sdk.Carrier      `json:"carrier,omitempty"`
	Command      []string         `json:"command,omitempty"` // of a process: its command in the manifest
	Capabilities []sdk.Capability `json:"capabilities,omitempty"`
	Hooks        []Hook           `json:"hooks,omitempty"`
	Tools        []string         `json:"tools,omitempty"`
	// Leave has a line for each tool whose permission is not its own id: the permission, or a note that the plugin names the
	// permissions of each call.
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
	// Undescribed marks a plugin that lists its contributions only when it runs. The user is then asked again.
	Undescribed bool `json:"undescribed,omitempty"`
}

// Hook holds the properties of a hook that the user approves. Its policy, timeout and order are shown but not compared.
type Hook struct {
	sdk.HookDescription
	// Right is a right of the hook beyond its fields. It counts as requested: approvals from before rights existed do not cover it.
	Right Right `json:"right,omitempty"`
}

// Right is a right that is equivalent to the user's own rights.
type Right string

// The rights of hooks.
const (
	RightCommands Right = "can run commands"
	RightKeys     Right = "can read your keys"
	RightSettings Right = "can change what tenon does"
	RightFields   Right = "can choose who receives your conversations"
)

// RightOf returns the right of a hook that writes these fields; empty for none.
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
	case sdk.PointChatParams:
		if requestfield.SetsOthers(writes) {
			return RightFields
		}
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

// Label names the hook: its point, followed by its name if that differs.
func (h Hook) Label() string { return hookpoint.Label(sdk.Point(h.Point), h.Name) }

func field(pointer string) string {
	return cmp.Or(pointer, "everything")
}

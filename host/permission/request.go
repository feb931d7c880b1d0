package permission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/sdk"
)

// Prefixes of permission keys that name the origin of a tool; the pattern is then the tool's id.
const (
	PluginKey = "plugin:"
	ServerKey = "mcp:"
)

// Request is a call that requires permission.
type Request struct {
	Permission string
	Patterns   []string // all must be allowed
	Implied    []sdk.ImpliedPermission
	Verbatim   bool     // the only pattern is a text that is not fully understood
	Tool       string   // the tool's id
	Sources    []string // keys of the tool's origin: plugin:NAME, mcp:SERVER
}

// RequestOf converts a permission request to the form that rules judge, without Tool and Sources.
func RequestOf(r *sdk.PermissionRequest) *Request {
	return &Request{Permission: r.Permission, Patterns: r.Patterns, Implied: r.Implied, Verbatim: r.Verbatim != ""}
}

// SourcesOf returns the keys of a tool's origin; none for compiled-in tools.
func SourcesOf(o sdk.Origin) []string {
	if o.Carrier == sdk.CarrierBuiltin || o.Plugin == "" {
		return nil
	}
	keys := []string{PluginKey + o.Plugin}
	if o.Server != "" {
		keys = append(keys, ServerKey+o.Server)
	}
	return keys
}

// DecideRequest judges a request by the rules. A rule about the origin of the tool denies or asks for all its
// calls. It allows only calls that require permission just for the tool itself, unless a later rule is about the tool.
func (r *Rules) DecideRequest(q *Request) Decision {
	all := r.DecideAll(q.Permission, q.Patterns)
	for _, key := range q.Sources {
		s := r.decideSource(key, normal(q.Tool))
		switch {
		case !s.Matched:
		case strictness(s.Action) > strictness(all.Action):
			all = s
		case q.Permission == q.Tool && s.Depth == all.Depth && s.Index > all.Index && !all.Final && r.parentsAllow(q):
			all = s
		}
	}
	if q.Verbatim && all.Action == sdk.ActionAllow && !r.allowsVerbatim(q.Permission) {
		all = Decision{Action: sdk.ActionAsk, Index: -1}
	}
	for _, i := range q.Implied {
		d := r.Decide(i.Permission, i.Pattern)
		d.Implied = true
		byName := d.asksByName() || d.Guarded != ""
		switch {
		case i.Maybe && (d.Action == sdk.ActionDeny || i.Pattern == sdk.AnyFile && r.names(i.Permission, sdk.ActionDeny)):
			d.Action, byName = sdk.ActionAsk, true
		case i.Maybe:
			byName = byName && d.Final
		}
		if byName && all.Action == sdk.ActionAsk && !all.Final {
			all.Implied = true // so that approvals of the request do not answer
			if d.Final {
				all = d // --auto does not answer either
			}
		}
		if (d.Action == sdk.ActionDeny || byName) && strictness(d.Action) > strictness(all.Action) {
			all = d
		}
	}
	return all
}

// allowsVerbatim reports whether the rules may allow a text that is not fully understood: the last rule for the permission with the pattern *
// allows, and no rule denies or asks for something by name, which the text could hide.
func (r *Rules) allowsVerbatim(permission string) bool {
	return !r.NamesOthers(permission) && !slices.ContainsFunc(r.lists, func(l list) bool {
		all := l.decide(normal(permission), func(one *rule) bool { return one.pattern.anything() })
		return !l.bound && all.Action != sdk.ActionAllow
	})
}

// NamesOthers reports whether a rule for the permission denies or asks for something by name, by a pattern other than *, or, for shell
// commands, denies editing or reading a file by name. A text that is not fully understood could hide that.
func (r *Rules) NamesOthers(permission string) bool {
	return r.names(permission, sdk.ActionDeny) || r.names(permission, sdk.ActionAsk) || permission == "bash" && (r.names("edit", sdk.ActionDeny) || r.names("read", sdk.ActionDeny))
}

// names reports whether a rule with this action names something specific.
func (r *Rules) names(permission string, action sdk.Action) bool {
	return slices.ContainsFunc(r.lists, func(l list) bool {
		return l.decide(normal(permission), func(one *rule) bool { return one.Action == action && !one.Held && !one.pattern.anything() }).Matched
	})
}

// parentsAllow reports whether the rules of a subagent's parent allow a call; true without a parent.
func (r *Rules) parentsAllow(q *Request) bool {
	own := r.lists[0].depth
	parents := slices.DeleteFunc(slices.Clone(r.lists), func(l list) bool { return l.depth == own })
	return len(parents) == 0 || (&Rules{parents}).DecideRequest(q).Action == sdk.ActionAllow
}

// decideSource returns the strictest decision of rules whose key names a source.
func (r *Rules) decideSource(key, tool string) Decision {
	all := Decision{Action: sdk.ActionAllow}
	for _, l := range r.lists {
		d := l.decide(key, func(one *rule) bool { return namesSource(one.PermissionRule.Permission) && one.pattern.match(tool) })
		if d.Matched && (d.overrides(&all) || !all.Matched && !d.Final) {
			all = d
		}
	}
	return all
}

func namesSource(key string) bool {
	return strings.HasPrefix(key, PluginKey) || strings.HasPrefix(key, ServerKey)
}

// AskedBy returns the metadata of a request with its author if that is not the model: the template of a command, or a plugin. Clients show
// these fields as facts of the host, so values of a tool are removed.
func AskedBy(metadata sdk.Object, template, plugin string) sdk.Object {
	out := sdk.Object{}
	maps.Copy(out, metadata)
	for _, key := range []string{"template", "plugin", "guarded", "asks", "tool", "server"} {
		delete(out, key)
	}
	switch {
	case template != "":
		out["template"] = template
	case plugin != "":
		out["plugin"] = plugin
	}
	return out
}

// foreignKey matches the permission keys of third-party plugins, as in their manifests: "always" for a pattern such as * would allow everything.
var foreignKey = lazyregexp.New(`^[a-z0-9_.-]+$`)

// Foreign restricts a request of the origin's tool or plugin, unless it is compiled in. It returns an error for a permission that only tenon requests.
// It removes what the plugin claims about the command, the file and the confinement: the question shows the patterns instead, which would be
// allowed. An answer "always" covers only these patterns.
func Foreign(r *sdk.PermissionRequest, o sdk.Origin) error {
	if len(SourcesOf(o)) == 0 {
		return nil
	}
	key := strings.ToLower(r.Permission) // as rules on Windows and macOS
	if !foreignKey().MatchString(key) || sdk.Deliberate(key) || key == Sampling {
		return fmt.Errorf("a plugin must not request the permission %.40q", r.Permission)
	}
	for _, key := range []string{"sandbox", "command", "filepath", "covers", "verbatim"} {
		delete(r.Metadata, key)
	}
	r.Always = slices.DeleteFunc(slices.Clone(r.Always), func(p string) bool { return !slices.Contains(r.Patterns, p) })
	return nil
}

// Describe adds the tool and its MCP server to the metadata of a request.
func Describe(r *sdk.PermissionRequest, tool string, o sdk.Origin) {
	if tool != "" {
		r.Metadata["tool"] = tool
	}
	if o.Server != "" {
		r.Metadata["server"] = o.Server
	}
}

package manifest

import (
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/sdk"
)

// hooks checks the hooks. A hook without a name has the name of its point.
func (v *validator) hooks(hooks []sdk.HookDescription) {
	unique(v, v.at("hooks"), hooks, func(where string, h sdk.HookDescription) string {
		info, ok := hookpoint.Of(h.Point)
		if !ok {
			v.add(checked.Join(where, "point"), nearest.Remedy(h.Point, pointNames()), "unknown hook point %s", quoted(h.Point))
			return ""
		}
		if h.Name != "" {
			v.word(checked.Join(where, "name"), h.Name)
		}
		v.fields(checked.Join(where, "reads"), h.Reads, info)
		v.fields(checked.Join(where, "writes"), h.Writes, info)
		v.neighbours(checked.Join(where, "before"), h.Before)
		v.neighbours(checked.Join(where, "after"), h.After)
		v.onError(checked.Join(where, "onError"), h.OnError, info)
		if most := sdk.MaxHookTimeout.Milliseconds(); h.TimeoutMS < 0 || h.TimeoutMS > most {
			v.add(checked.Join(where, "timeout"), "", "%d is not between 0 and %d milliseconds", h.TimeoutMS, most)
		}
		if h.Name == h.Point {
			h.Name = ""
		}
		return hookpoint.Label(info.Point, h.Name)
	})
}

func pointNames() []string {
	var names []string
	for _, p := range hookpoint.All() {
		names = append(names, string(p.Point))
	}
	return names
}

// onError refuses policies that make no sense at the point, as the hook engine does.
func (v *validator) onError(where string, policy sdk.OnError, info hookpoint.Info) {
	switch policy {
	case sdk.OnErrorDefault, sdk.OnErrorSkip, sdk.OnErrorDeny, sdk.OnErrorStop:
	default:
		v.add(where, "write skip, deny or stop", "unknown policy %s", quoted(string(policy)))
	}
	if !info.Fits(policy) {
		v.add(where, "choose another policy", "%s does not fit %s, where hooks are of kind %s", policy, info.Point, info.Kind)
	}
}

func (v *validator) neighbours(where string, names []string) {
	for i, name := range names {
		if checkName(v.report, checked.Index(where, i), name) && name == v.own {
			v.add(checked.Index(where, i), "name another plugin", "names the plugin itself")
		}
	}
}

// fields checks JSON pointers into the value of a point.
func (v *validator) fields(where string, pointers []string, info hookpoint.Info) {
	if len(pointers) > maxContributions {
		v.add(where, "name a field above them", "has %d entries, at most %d are allowed", len(pointers), maxContributions)
		return
	}
	for i, p := range pointers {
		if slices.Contains(pointers[:i], p) {
			v.add(checked.Index(where, i), "keep one of them", "duplicate field %s", quoted(p))
			continue
		}
		v.field(checked.Index(where, i), p, info)
	}
}

func (v *validator) field(where, pointer string, info hookpoint.Info) {
	if pointer == "" {
		return // the whole value
	}
	if pointer[0] != '/' || strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(pointer), "~") {
		v.add(where, `write a JSON pointer such as "/args", in which * matches any one member`, "invalid JSON pointer %s", quoted(pointer))
		return
	}
	if info.NewValue == nil {
		v.add(where, "remove it; the input is always sent", "hooks at %s have no value", info.Point)
		return
	}
	if segment, known := missingField(info.NewValue(), pointer); segment != "" {
		v.add(where, nearest.Remedy(segment, known), "%s: the value at %s has no field %s", quoted(pointer), info.Point, quoted(segment))
	}
}

package manifest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
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
		v.timeout(where, h.TimeoutMS, sdk.MaxHookTimeout)
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
	known := slices.Contains(hookpoint.Policies[:], policy)
	v.need(known, where, "write skip, deny or stop", "unknown policy %s", quoted(string(policy)))
	v.need(info.Fits(policy), where, "choose another policy", "%s does not fit %s, where hooks are of kind %s", policy, info.Point, info.Kind)
}

func (v *validator) neighbours(where string, names []string) {
	for i, name := range names {
		at := checked.Index(where, i)
		checkName(v.report, at, name)
		v.need(name != v.own, at, "name another plugin", "names the plugin itself")
	}
}

// fields checks JSON pointers into the value of a point.
func (v *validator) fields(where string, pointers []string, info hookpoint.Info) {
	if !v.bound(len(pointers), maxContributions, "entries", where, "name a field above them") {
		return
	}
	for i, p := range pointers {
		at := checked.Index(where, i)
		if v.need(!slices.Contains(pointers[:i], p), at, "keep one of them", "duplicate field %s", quoted(p)) {
			v.field(at, p, info)
		}
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

// missingField follows a pointer through the Go type of a value and returns the first segment without a field, with the names of the
// existing fields. Types with arbitrary content accept any segments.
func missingField(value any, pointer string) (segment string, known []string) {
	t := reflect.TypeOf(value)
	for _, raw := range strings.Split(pointer, "/")[1:] {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(raw)
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case open(t):
			return "", nil
		case t.Kind() == reflect.Struct:
			if name == "*" {
				return "", nil
			}
			fields := checked.FieldsOf(t)
			next, ok := fields.Types[name]
			if !ok {
				return name, fields.Names
			}
			t = next
		case t.Kind() == reflect.Slice:
			if _, err := strconv.ParseUint(name, 10, 31); err != nil && name != "*" && name != "-" {
				return name, []string{"*"}
			}
			t = t.Elem()
		case t.Kind() == reflect.Map:
			t = t.Elem()
		default:
			return name, nil
		}
	}
	return "", nil
}

// open reports whether a value of the type may hold members that the type does not name.
func open(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[sdk.Object](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[sdk.PermissionRules](), reflect.TypeFor[sdk.Bytes]():
		return true
	}
	return t.Kind() == reflect.Interface || t.Kind() == reflect.Struct && checked.FieldsOf(t).Open
}

package manifest

import (
	"path"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
)

// scoped says for each capability whether it needs a scope; those that are false have none.
func scoped() map[string]bool {
	return map[string]bool{
		sdk.CapabilityHTTP: true, sdk.CapabilityKV: false, sdk.CapabilitySecret: true, sdk.CapabilityConfig: false,
		sdk.CapabilityTool: true, sdk.CapabilitySession: false, sdk.CapabilityAsk: false, sdk.CapabilityEvents: true,
		sdk.CapabilityModel: false, sdk.CapabilityEnv: true, sdk.CapabilityRead: true, sdk.CapabilityWrite: true,
		sdk.CapabilityClock: false, sdk.CapabilityAuth: true,
	}
}

func (v *validator) capabilities(list []sdk.Capability) {
	unique(v, v.at("capabilities"), list, func(where string, c sdk.Capability) string {
		v.capability(where, c)
		return c.Name
	})
}

func (v *validator) capability(where string, c sdk.Capability) {
	needs, known := scoped()[c.Name]
	if !known {
		v.add(checked.Join(where, "name"), nearest.Remedy(c.Name, sortedKeys(scoped())), "unknown capability %s", quoted(c.Name))
		return
	}
	if len(c.Reason) > maxReason {
		v.add(checked.Join(where, "reason"), "shorten it", "has %d bytes, at most %d are allowed", len(c.Reason), maxReason)
	}
	scope := checked.Join(where, "scope")
	switch {
	case needs && len(c.Scope) == 0:
		v.add(scope, "add a scope, such as a host or a path", "%s needs a scope", c.Name)
	case !needs && len(c.Scope) > 0:
		v.add(scope, "remove it", "%s has no scope", c.Name)
	case len(c.Scope) > maxScope:
		v.add(scope, "ask for less", "has %d entries, at most %d are allowed", len(c.Scope), maxScope)
	}
	for i, entry := range c.Scope {
		if text := scopeProblem(c.Name, entry); text != "" {
			v.add(checked.Index(scope, i), "", "%s: %s", quoted(entry), text)
			continue
		}
		if c.Name == sdk.CapabilityHTTP {
			if err := ability.CheckAddress(entry); err != nil {
				v.add(checked.Index(scope, i), "", "%v", err)
			}
		}
	}
}

// scopeProblem returns the problem with an entry of a scope; "" without one.
func scopeProblem(capability, entry string) string {
	if entry == "" || len(entry) > 256 {
		return "want 1 to 256 characters"
	}
	if strings.ContainsFunc(entry, hidden) {
		return "holds characters that cannot be seen"
	}
	switch capability {
	case sdk.CapabilityEnv, sdk.CapabilitySecret:
		return variableProblem(entry)
	case sdk.CapabilityRead, sdk.CapabilityWrite:
		return directoryProblem(entry)
	case sdk.CapabilityAuth:
		if !plain(entry, "_-.:/") {
			return "want the ID of a provider; patterns are not supported"
		}
	case sdk.CapabilityTool, sdk.CapabilityEvents:
		if !plain(entry, "_-.*:/") {
			return "want a name; * matches any characters"
		}
	}
	return ""
}

// hidden reports characters that do not show or change how others show.
func hidden(r rune) bool { return !visible.Is(r) }

func variableProblem(name string) string {
	if !plain(name, "_") || name[0] >= '0' && name[0] <= '9' {
		return "want the exact name of an environment variable; patterns are not supported"
	}
	if upper := strings.ToUpper(name); upper == rootVariable || upper == dataVariable {
		return "tenon sets this variable itself"
	}
	return ""
}

// directoryProblem wants directories that mean the same whoever reads them: no relative paths, no way up.
func directoryProblem(dir string) string {
	rest, known := dir, false
	for _, prefix := range []string{"$PROJECT", "$DATA"} {
		if after, ok := strings.CutPrefix(dir, prefix); ok && (after == "" || after[0] == '/') {
			rest, known = after, true
		}
	}
	slashed := strings.ReplaceAll(rest, `\`, "/")
	drive := len(slashed) > 2 && slashed[1] == ':' && slashed[2] == '/'
	switch {
	case !known && !strings.HasPrefix(slashed, "/") && !drive:
		return "want $PROJECT, $DATA or an absolute path, and directories below them"
	case strings.Contains(rest, "$") || strings.Contains(rest, "*"):
		return "variables but $PROJECT and $DATA, and patterns, are not supported"
	case slashed != "" && path.Clean(slashed) != strings.TrimSuffix(slashed, "/") && slashed != "/":
		return "write the path without ., .. and double slashes"
	}
	return ""
}

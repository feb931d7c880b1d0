package manifest

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
)

// capability is a right that a plugin can request.
type capability struct {
	words string // what it permits; SCOPE stands for its scope
	all   string // what * or / in its scope means
	// problem returns the problem with an entry of the scope; "" without one. If nil, the capability has no scope.
	problem func(entry string) string
}

var capabilities = map[string]capability{
	sdk.CapabilityHTTP:    {"send requests to SCOPE", "", addressProblem},
	sdk.CapabilityKV:      {"store values", "", nil},
	sdk.CapabilitySecret:  {"read the secrets SCOPE", "", variableProblem},
	sdk.CapabilityConfig:  {"read your configuration, without secrets", "", nil},
	sdk.CapabilityTool:    {"call the tools SCOPE", "all of them", nameProblem},
	sdk.CapabilitySession: {"read the whole session of each call", "", nil},
	sdk.CapabilityAsk:     {"ask you questions and request permission", "", nil},
	sdk.CapabilityEvents:  {"receive SCOPE", "all events", nameProblem},
	sdk.CapabilityModel:   {"ask your model, at your cost", "", nil},
	sdk.CapabilityEnv:     {"read the environment variables SCOPE", "", variableProblem},
	sdk.CapabilityRead:    {"read files below SCOPE", "all files", directoryProblem},
	sdk.CapabilityWrite:   {"change files below SCOPE", "all files", directoryProblem},
	sdk.CapabilityClock:   {"read the time", "", nil},
	sdk.CapabilityAuth: {"FULL RIGHTS over the requests to SCOPE: it signs you in there, keeps the token, and sets headers of each request", "",
		providerProblem},
}

// CapabilityText describes a capability in plain words. Granted directories that are links are shown with their targets.
func CapabilityText(c sdk.Capability) string {
	known := capabilities[c.Name]
	scope := slices.Clone(c.Scope)
	for i, entry := range scope {
		if c.Name != sdk.CapabilityRead && c.Name != sdk.CapabilityWrite {
			break
		}
		if real, err := filepath.EvalSymlinks(entry); err == nil && filepath.IsAbs(entry) && real != filepath.Clean(entry) {
			scope[i] = entry + " (a link to " + visible.Text(real) + ")"
		}
	}
	text := c.Name + ": " + strings.ReplaceAll(known.words, "SCOPE", strings.Join(scope, ", "))
	if known.all != "" && (slices.Contains(c.Scope, "*") || slices.Contains(c.Scope, "/")) {
		text += ", that is, " + known.all
	}
	return text
}

func (v *validator) capabilities(list []sdk.Capability) {
	unique(v, v.at("capabilities"), list, func(where string, c sdk.Capability) string {
		v.capability(where, c)
		return c.Name
	})
}

func (v *validator) capability(where string, c sdk.Capability) {
	known, ok := capabilities[c.Name]
	if !v.need(ok, checked.Join(where, "name"), nearest.Remedy(c.Name, sortedKeys(capabilities)), "unknown capability %s", quoted(c.Name)) {
		return
	}
	v.bound(len(c.Reason), maxReason, "bytes", checked.Join(where, "reason"), "shorten it")
	scope := checked.Join(where, "scope")
	if known.problem == nil {
		v.need(len(c.Scope) == 0, scope, "remove it", "%s has no scope", c.Name)
		return
	}
	v.need(len(c.Scope) > 0, scope, "add a scope, such as a host or a path", "%s needs a scope", c.Name)
	v.bound(len(c.Scope), maxScope, "entries", scope, "ask for less")
	for i, entry := range c.Scope {
		problem := ""
		switch {
		case entry == "" || len(entry) > 256:
			problem = "want 1 to 256 characters"
		case strings.ContainsFunc(entry, hidden):
			problem = "holds characters that cannot be seen"
		default:
			problem = known.problem(entry)
		}
		v.need(problem == "", checked.Index(scope, i), "", "%s: %s", quoted(entry), problem)
	}
}

func addressProblem(address string) string {
	if err := ability.CheckAddress(address); err != nil {
		return err.Error()
	}
	return ""
}

func nameProblem(name string) string {
	if !plain(name, "_-.*:/") {
		return "want a name; * matches any characters"
	}
	return ""
}

func providerProblem(id string) string {
	if !plain(id, "_-.:/") {
		return "want the ID of a provider; patterns are not supported"
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

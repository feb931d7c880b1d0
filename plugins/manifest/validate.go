package manifest

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/schemacost"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// Bounds of what a plugin contributes.
const (
	maxContributions = 256     // of one kind
	maxText          = 8 << 10 // of one description, bytes
	maxReason        = 500     // of one capability, bytes
	maxScope         = 32      // entries of one capability: the user should read them all
)

// itself is the name, in problems, of the description that a running plugin returns.
const itself = "the plugin's description of itself"

// Describe reads the description that a bare plugin returns, by the same rules as tenon's part of a plugin.json; the name is required. Errors
// wrap sdk.ErrManifest and name the field.
func Describe(data []byte) (sdk.Description, error) {
	rep := newReport(itself)
	rep.src.NoLines = true
	c := rep.checker()
	c.Nulls = true
	var d sdk.Description
	n := rep.object(data)
	if n == nil || !c.Decode(n.Place(""), n, &d) {
		return sdk.Description{}, rep.err()
	}
	if rep.need(d.Name != "", "name", "name the plugin", "is missing") {
		checkName(rep, "name", d.Name)
	}
	rep.need(d.Runtime == nil, "runtime", "remove it", "a plugin that describes itself runs already")
	rep.need(d.Build == nil, "build", "remove it", "a plugin that describes itself is built already")
	v := &validator{report: rep, own: d.Name}
	v.contributions(&d)
	if err := rep.err(); err != nil {
		return sdk.Description{}, err
	}
	return d, nil
}

// CheckCarrier reports contributions of a plugin that its carrier does not support.
func CheckCarrier(d *sdk.Description, carrier sdk.Carrier) error {
	rep := newReport(itself)
	(&validator{report: rep}).forCarrier(d, carrier)
	return rep.err()
}

// validator checks a description.
type validator struct {
	*report
	where string // prefix of the names of fields
	own   string // the plugin's name
}

func (v *validator) at(name string) string { return checked.Join(v.where, name) }

// contributions checks everything but the runtime.
func (v *validator) contributions(d *sdk.Description) {
	v.hooks(d.Hooks)
	v.tools(d.Tools)
	unique(v, v.at("capabilities"), d.Capabilities, func(where string, c sdk.Capability) string {
		v.capability(where, c)
		return c.Name
	})
	if len(d.Options) > 0 {
		v.schema(v.at("options"), d.Options)
	}
	v.rest(d)
}

// rest checks providers, sign-ins, agents and commands.
func (v *validator) rest(d *sdk.Description) {
	unique(v, v.at("providers"), d.Providers, func(where string, p sdk.ProviderInfo) string {
		v.word(checked.Join(where, "protocol"), p.Protocol)
		return v.word(checked.Join(where, "id"), p.ID)
	})
	unique(v, v.at("protocols"), d.Protocols, func(where string, p string) string { return v.word(where, p) })
	unique(v, v.at("auth"), d.Auth, func(where string, a sdk.AuthDescription) string {
		v.word(checked.Join(where, "id"), a.ID)
		v.need(remote.Names(d.Capabilities, a.Provider, sdk.CapabilityAuth), checked.Join(where, "provider"), "request it in capabilities", "the capability auth does not name %s", quoted(a.Provider))
		return v.word(checked.Join(where, "provider"), a.Provider) + " " + a.ID
	})
	unique(v, v.at("agents"), d.Agents, func(where string, a sdk.Agent) string {
		known := slices.Contains([]string{sdk.ModePrimary, sdk.ModeSubagent, sdk.ModeAll}, a.Mode)
		v.need(known, checked.Join(where, "mode"), "write primary, subagent or all", "unknown mode %s", quoted(a.Mode))
		return v.word(checked.Join(where, "name"), a.Name)
	})
	unique(v, v.at("commands"), d.Commands, func(where string, c sdk.Command) string { return v.word(checked.Join(where, "name"), c.Name) })
}

// unique checks the elements of a list, whose names check returns, and reports duplicates.
func unique[T any](v *validator, where string, list []T, check func(where string, e T) string) {
	if !v.bound(len(list), maxContributions, "entries", where, "contribute fewer") {
		return
	}
	seen := make(map[string]int, len(list))
	for i, e := range list {
		name := check(checked.Index(where, i), e)
		if first, twice := seen[name]; twice && name != "" {
			v.add(checked.Index(where, i), "rename or remove one of them", "duplicate of %s at %s", quoted(name), checked.Index(where, first))
			continue
		}
		seen[name] = i
	}
}

// word checks a name that users type or read: visible ASCII without spaces.
func (v *validator) word(where, s string) string {
	if s == "" || len(s) > 128 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		v.add(where, "use 1 to 128 visible ASCII characters without spaces", "invalid name %s", quoted(s))
		return ""
	}
	return s
}

// forCarrier refuses contributions that the carrier does not support.
func (v *validator) forCarrier(d *sdk.Description, carrier sdk.Carrier) {
	if !CarrierOf(carrier).Inert {
		return
	}
	for _, field := range contributed(d) {
		if field == "agents" || field == "commands" {
			v.add(v.at(field), "make it a process, or remove it", "a %s plugin cannot contribute %s", carrier, field)
		}
	}
}

// contributed returns the fields that list contributions, except for empty ones.
func contributed(d *sdk.Description) (out []string) {
	for _, list := range []struct {
		field  string
		length int
	}{
		{"hooks", len(d.Hooks)}, {"tools", len(d.Tools)}, {"providers", len(d.Providers)}, {"protocols", len(d.Protocols)},
		{"auth", len(d.Auth)}, {"agents", len(d.Agents)}, {"commands", len(d.Commands)},
	} {
		if list.length > 0 {
			out = append(out, list.field)
		}
	}
	return out
}

func (v *validator) tools(tools []sdk.ToolDescription) {
	const most = 64 // the limit of model servers
	unique(v, v.at("tools"), tools, func(where string, t sdk.ToolDescription) string {
		v.need(t.ID != "" && len(t.ID) <= most && plain(t.ID, "_-"), checked.Join(where, "id"),
			fmt.Sprintf("use 1 to %d of A-Z, a-z, 0-9, _ and -", most), "invalid tool id %s", quoted(t.ID))
		v.need(len(t.Permission) <= most && plain(t.Permission, "_-."), checked.Join(where, "permission"),
			"use letters, digits, _, - and .", "invalid permission key %s", quoted(t.Permission))
		text := checked.Join(where, "description")
		v.need(strings.TrimSpace(t.Description) != "", text, "describe the tool; the model chooses by it", "is missing")
		v.bound(len(t.Description), maxText, "bytes", text, "shorten it")
		if v.need(len(t.Parameters) > 0, checked.Join(where, "parameters"), `write a JSON schema; {"type": "object"} for none`, "is missing") {
			v.schema(checked.Join(where, "parameters"), t.Parameters)
		}
		v.timeout(where, t.TimeoutMS, sdk.DefaultToolTimeout)
		return t.ID
	})
}

// timeout checks the timeout of a hook or tool.
func (v *validator) timeout(where string, have int64, longest time.Duration) {
	limit := longest.Milliseconds()
	v.need(have >= 0 && have <= limit, checked.Join(where, "timeout"), "", "%d is not between 0 and %d milliseconds", have, limit)
}

// schema checks a JSON schema of an object. References to other documents are refused: nothing is fetched.
func (v *validator) schema(where string, data json.RawMessage) {
	var fields map[string]json.RawMessage
	err := json.Unmarshal(data, &fields)
	if !v.need(err == nil && fields != nil, where, `write a JSON schema of type "object"`, "want an object") {
		return
	}
	if v.need(string(fields["type"]) == `"object"`, checked.Join(where, "type"), `write "type": "object"`, "want the schema of an object") {
		_, err := schemacost.Resolve(data)
		v.need(err == nil, where, "correct the JSON schema", "%v", err)
	}
}

// CheckOptions validates the user's options against the plugin's schema, which Read or Describe accepted. Empty options count as an empty
// object. The error names the invalid option.
func CheckOptions(schema, options json.RawMessage) error {
	if len(schema) == 0 {
		return nil
	}
	compiled, err := schemacost.Resolve(schema)
	if err != nil {
		return fmt.Errorf("%w: options: %w", sdk.ErrManifest, err)
	}
	var value any = map[string]any{}
	if len(options) > 0 && string(options) != "null" {
		if err := json.Unmarshal(options, &value); err != nil {
			return err
		}
	}
	return compiled.Validate(value)
}

// plain reports whether s consists of letters, digits and the characters of more.
func plain(s, more string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !slices.Contains([]rune(more), r)
	})
}

// capability is a right that a plugin can request.
type capability struct {
	words string // what it permits; SCOPE stands for its scope
	all   string // text for a scope of * or /, which permits everything
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

// Capabilities returns the names of all capabilities, sorted.
func Capabilities() []string { return sortedKeys(capabilities) }

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

func (v *validator) capability(where string, c sdk.Capability) {
	known, ok := capabilities[c.Name]
	if !v.need(ok, checked.Join(where, "name"), nearest.Remedy(c.Name, Capabilities()), "unknown capability %s", quoted(c.Name)) {
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
			problem = "contains invisible characters"
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

// directoryProblem refuses directories whose meaning depends on the reader: relative paths, and paths with "..".
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

package conformance_test

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// Carrier is a carrier under test.
type Carrier struct {
	Name string
	// Open returns the plugin of package conformance as the carrier runs it, described by c and not started. The suite starts and
	// closes it.
	Open func(t *testing.T, c Case) sdk.Plugin
	// Points are the points the carrier can have hooks at. Nil: all.
	Points []sdk.Point
	// Isolated means that what one session leaves in the plugin's memory no other session sees.
	Isolated bool
	// Grants means that the carrier holds the plugin to its grants. In this process nothing does.
	Grants bool
	// Foreign means that what the plugin is made of is not the sdk, but something else that is carried over to hooks: the text of an
	// error is in the carrier's words, and changes are found in JSON, without the types of the point, so that they may be in the
	// ledger in another order, and deeper, and that parts of unknown types may have their fields in another order. None of it is
	// compared.
	Foreign bool
	// Untyped means that the plugin has JSON and no types of the points: numbers are IEEE 754 doubles and compared after rounding, and a
	// recorded value has the fields that were sent.
	Untyped bool
	// Hang is a fault that makes a call of this carrier hang. Default conformance.FaultHang.
	Hang conformance.Fault
	// ToolID returns the id under which the host knows a tool. Default: the id itself.
	ToolID func(id string) string
	// Skips names groups and cases, such as "tools" or "tools/ask", that do not apply to the carrier, with the reason. A name that
	// is not a case fails the suite.
	Skips map[string]string
}

// Case is a plugin as a case needs it.
type Case struct {
	// Description is the plugin's manifest: its hooks with their fields, policies and deadlines, its tools and its capabilities,
	// all of which are granted.
	Description sdk.Description
	Options     json.RawMessage // what the host will give the plugin
	Secrets     map[string]string
	// StartTimeout limits the start of a process. Default 20 s: a machine may have other things to do.
	StartTimeout time.Duration
}

// InProcess returns the plugin as a builtin one.
func (c Case) InProcess() sdk.Plugin {
	p := conformance.New(sdk.CarrierBuiltin)
	var hooks []sdk.Hook
	for _, d := range c.Description.Hooks {
		hook, err := hookpoint.Hook(&d, "hook", nil)
		if err != nil {
			continue // the case asks for a hook that cannot be: the carriers refuse it, too
		}
		for _, own := range p.HookList {
			if own.Point == hook.Point && own.Name == hook.Name {
				hook.Handler = own.Handler
			}
		}
		hooks = append(hooks, hook)
	}
	p.HookList = hooks
	return p
}

// Builtin is the carrier of plugins that are compiled in, the yardstick.
func Builtin() Carrier {
	return Carrier{Name: "builtin", Open: func(_ *testing.T, c Case) sdk.Plugin { return c.InProcess() }}
}

// suite is one run over one carrier.
type suite struct {
	carrier Carrier
	t       *testing.T                       // of all cases
	tools   func(t *testing.T) *sdktest.Host // the plugin without hooks that cases share; its host repeats the arguments of tool calls
}

// closeTimeout bounds the end of a plugin and of an engine.
const closeTimeout = time.Minute

// yardstick reports whether the carrier is this process: the engine's own rules, which do not depend on the carrier, are tried there in full.
func (s *suite) yardstick() bool { return s.carrier.Name == Builtin().Name }

// shared returns a function that opens a plugin once, for all cases. If that fails, which ends the case that opens it, the others fail, too.
func shared[T any](open func() T) func(t *testing.T) T {
	var once sync.Once
	var value T
	opened := false
	return func(t *testing.T) T {
		t.Helper()
		once.Do(func() { value, opened = open(), true })
		if !opened {
			t.Fatal("the plugin did not open in another case")
		}
		return value
	}
}

// Run runs the suite. Cases run in parallel.
func Run(t *testing.T, c Carrier) {
	t.Helper()
	c.Hang = cmp.Or(c.Hang, conformance.FaultHang)
	if c.ToolID == nil {
		c.ToolID = func(id string) string { return id }
	}
	s := &suite{carrier: c, t: t}
	s.tools = shared(func() *sdktest.Host { return s.toolHost(t, c, sdktest.Options{Tool: repeatArgs}) })
	probes := map[string]map[string]probe{
		"points":   s.points(),
		"changes":  s.changes(),
		"fields":   s.fields(),
		"answers":  s.answers(),
		"gates":    s.gates(),
		"failures": s.failures(),
	}
	groups := map[string]map[string]func(t *testing.T){
		"order":       s.order(),
		"deadlines":   s.deadlines(),
		"quarantine":  s.quarantine(),
		"state":       s.state(),
		"concurrency": s.concurrency(),
		"start":       s.starts(),
		"tools":       s.toolCases(),
		"abilities":   s.abilities(),
		"auth":        s.auth(),
		"models":      s.models(),
	}
	known := map[string]bool{}
	for group, list := range probes {
		know(known, group, list)
		groups[group] = s.bundles(group, list)
	}
	for group, cases := range groups {
		know(known, group, cases)
	}
	for name := range s.carrier.Skips {
		if !known[name] { // the reason may have gone with the case
			t.Errorf("%s skips %q, which is not a case", s.carrier.Name, name)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			s.group(t, group, groups[group])
		})
	}
}

// know adds the names of a group and its cases.
func know[T any](known map[string]bool, group string, cases map[string]T) {
	known[group] = true
	for name := range cases {
		known[group+"/"+name] = true
	}
}

func (s *suite) group(t *testing.T, group string, cases map[string]func(t *testing.T)) {
	if reason := s.carrier.Skips[group]; reason != "" {
		t.Logf("%s does not apply to %s: %s", group, s.carrier.Name, reason)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		if s.applies(t, group, name) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cases[name](t)
			})
		}
	}
}

// applies reports whether a case is not skipped, and logs the reason otherwise.
func (s *suite) applies(t *testing.T, group, name string) bool {
	reason := s.skipped(group, name)
	if reason != "" {
		t.Logf("%s/%s does not apply to %s: %s", group, name, s.carrier.Name, reason)
	}
	return reason == ""
}

func (s *suite) skipped(group, name string) string {
	if reason := s.carrier.Skips[group]; reason != "" {
		return reason
	}
	return s.carrier.Skips[group+"/"+name]
}

// has reports whether the carrier has hooks at the point.
func (s *suite) has(p sdk.Point) bool {
	return s.carrier.Points == nil || slices.Contains(s.carrier.Points, p)
}

// newCase makes a case with the hooks, the scripts of the hooks by their names, and all tools. A hook whose deadline does not matter
// gets a long one, so that a busy machine decides nothing.
func newCase(t *testing.T, o conformance.Options, list ...sdk.HookDescription) Case {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i].TimeoutMS = cmp.Or(list[i].TimeoutMS, sdk.MaxHookTimeout.Milliseconds())
	}
	d := sdk.Description{
		Name: conformance.Name, Version: conformance.Version, Hooks: list, Capabilities: conformance.Capabilities(),
		Runtime: &sdk.Runtime{State: sdk.StateSession},
	}
	for _, tool := range conformance.New(sdk.CarrierBuiltin).ToolList {
		d.Tools = append(d.Tools, describe(tool))
	}
	return Case{Description: d, Options: raw, Secrets: map[string]string{"CONFORMANCE_SECRET": "12345", "OTHER_SECRET": "1"}}
}

func describe(tool sdk.Tool) sdk.ToolDescription {
	d := sdk.ToolDescription{ToolDefinition: tool.Definition()}
	if p, ok := tool.(sdk.ToolPermission); ok {
		d.Permission = p.Permission()
	}
	if p, ok := tool.(sdk.ToolDeadline); ok {
		d.TimeoutMS = p.Deadline().Milliseconds()
	}
	_, d.Prepares = tool.(sdk.ToolPreparer)
	return d
}

// open opens and starts the plugin of a case on a host that answers as o says.
func open(t *testing.T, c Carrier, k Case, o sdktest.Options) *sdktest.Host {
	t.Helper()
	o.Options, o.Secrets = k.Options, k.Secrets
	if o.Project == (sdk.Project{}) { // some carriers start commands there
		dir := t.TempDir()
		o.Project = sdk.Project{ID: "global", Directory: dir, Worktree: dir, Home: dir, ConfigDir: dir, DataDir: dir}
	}
	return sdktest.Start(t, c.Open(t, k), o)
}

// recorded returns a value that the plugin kept.
func recorded(t *testing.T, c Carrier, h *sdktest.Host, key string) string {
	t.Helper()
	toolID := func(id string) string { return id }
	if c.ToolID != nil {
		toolID = c.ToolID
	}
	result, err := h.Call(within(t), toolID(conformance.ToolRecorded), map[string]string{"key": key})
	if err != nil {
		t.Fatalf("tool recorded: %v", err)
	}
	return result.Output
}

// within returns the context of the test's calls. It outlives the test, for cleanups.
func within(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }

// number is a number of JSON.
var number = regexp.MustCompile(`-?\d+(\.\d+)?([eE][+-]?\d+)?`)

// rounded returns a text with the numbers in it as doubles and one form of the line separator, if the plugin has no others.
func (s *suite) rounded(text string) string {
	if !s.carrier.Untyped {
		return text
	}
	text = strings.ReplaceAll(text, "\u2028", `\u2028`)
	return number.ReplaceAllStringFunc(text, func(n string) string {
		f, err := strconv.ParseFloat(n, 64)
		if err != nil || len(n) < 16 {
			return n
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	})
}

// has reports whether a text holds all pieces.
func holds(text string, pieces ...string) bool {
	return !slices.ContainsFunc(pieces, func(p string) bool { return !strings.Contains(text, p) })
}

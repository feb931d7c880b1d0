package commandhooks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// The events.
const (
	sessionStart       = "SessionStart"
	sessionEnd         = "SessionEnd"
	userPromptSubmit   = "UserPromptSubmit"
	preToolUse         = "PreToolUse"
	permissionRequest  = "PermissionRequest"
	postToolUse        = "PostToolUse"
	postToolUseFailure = "PostToolUseFailure"
	preCompact         = "PreCompact"
	postCompact        = "PostCompact"
	subagentStart      = "SubagentStart"
	subagentStop       = "SubagentStop"
	stop               = "Stop"
)

// events lists the events in the order of a session.
func events() []string {
	return []string{
		sessionStart, userPromptSubmit, preToolUse, permissionRequest, postToolUse, postToolUseFailure, subagentStart, subagentStop,
		preCompact, postCompact, stop, sessionEnd,
	}
}

// matches reports whether the event supports a matcher.
func matches(event string) bool {
	return !slices.Contains([]string{userPromptSubmit, stop, preCompact, postCompact}, event)
}

// sources returns, for session events, the names with which matchers are compared.
func sources() map[string][]string {
	return map[string][]string{sessionStart: {startNew, startResumed, startCompact}, sessionEnd: {endOther}}
}

// file is the content of a source.
type file struct {
	entries  []*entry // per event in the order of the file
	warnings []string
}

// entry is one command at one event, or one question to the user's model.
type entry struct {
	plugin  *Plugin // that runs it; set by New
	event   string
	matcher matcher
	rule    *rule // nil: none
	command string
	asks    bool     // command is a question to the model
	async   bool     // hooks do not wait for it; never set in a confined source, whose changes to git are checked when the command ends
	args    []string // if not nil, command is a program, which starts without a shell
	timeout time.Duration
	where   string // for example PreToolUse[0].hooks[1]
}

// parse parses a source. Errors wrap ErrSource and name file, position and remedy.
func parse(s *Source) (*file, error) {
	source := checked.Source{Name: s.Where, NoLines: s.Root == ""} // Data is only a part of a configuration file
	var report checked.Report
	p := &parser{Checker: checked.Checker{Source: &source, Report: &report, Rules: checked.NoRules{}}, packaged: s.Root != "", confined: s.Confine != nil}
	if n := source.Parse(s.Data, &report); n != nil {
		p.source(n)
	}
	if err := report.Err(ErrSource); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	return &p.file, nil
}

type parser struct {
	checked.Checker
	packaged bool // the source is a plugin folder
	confined bool // its commands run confined
	file     file
}

func (p *parser) source(n *checked.Node) {
	if nested := n.Get("hooks"); nested != nil {
		p.Each(n.Place(""), n, func(at checked.Place, name string, _ *checked.Node) {
			if name != "hooks" && name != "description" && name != "$schema" {
				p.warn(at.Key, "is unknown and has no effect")
			}
		})
		if n = nested; !p.Want(n.Place("hooks"), n, checked.Object) {
			return
		}
	}
	p.Each(n.Place(""), n, func(at checked.Place, event string, n *checked.Node) {
		if !slices.Contains(events(), event) {
			p.warn(at.Key, "is not an event of tenon; the events are "+strings.Join(events(), ", "))
			return
		}
		p.list(at, n, func(at checked.Place, n *checked.Node) { p.group(event, at, n) })
	})
}

// list calls f for each element of a list.
func (p *parser) list(at checked.Place, n *checked.Node, f func(at checked.Place, n *checked.Node)) {
	if p.Want(at, n, checked.List) {
		for i := range n.Items {
			f(at.Element(i, n.Items[i].Offset), &n.Items[i])
		}
	}
}

// group parses a matcher and its commands.
func (p *parser) group(event string, at checked.Place, n *checked.Node) {
	var m matcher
	isObject := p.Each(at, n, func(at checked.Place, name string, n *checked.Node) {
		switch name {
		case "matcher":
			m = p.matcher(event, at, n)
		case "hooks", "description", "id": // the last two have no effect in the original dialect either
		default:
			p.warn(at.Key, "is unknown and has no effect")
		}
	})
	if hooks := n.Get("hooks"); hooks != nil {
		p.list(at.Member("hooks", hooks.Offset), hooks, func(at checked.Place, n *checked.Node) {
			p.entry(&entry{event: event, matcher: m, where: at.Key}, at, n)
		})
	} else if isObject {
		p.Bad(at, `missing list "hooks"`, `write {"hooks": [{"type": "command", "command": "…"}]}`)
	}
}

func (p *parser) matcher(event string, at checked.Place, n *checked.Node) matcher {
	m, err := newMatcher(p.text(at, n))
	if err != nil {
		p.Bad(at, err.Error(), "")
	} else if !matches(event) && !m.everything() {
		p.warn(at.Key, "has no effect: "+event+" has nothing to match")
		if p.packaged {
			return matcher{text: n.Text} // shown as in the approvals of earlier versions
		}
		return matcher{}
	} else if names := sources()[event]; names != nil && !m.any(names...) {
		p.warn(at.Key, "never matches: "+event+" has only "+strings.Join(names, ", "))
	}
	return m
}

// entry parses one command or question.
func (p *parser) entry(e *entry, at checked.Place, n *checked.Node) {
	kind := n.Get("type")
	switch {
	case kind == nil:
		p.Bad(at.Member("type", n.Offset), "missing", `write "type": "command"`)
		return
	case !p.Want(at.Member("type", kind.Offset), kind, checked.String):
		return
	case kind.Text == "prompt" && !blockable(e.event): // nor in the original dialect
		p.warn(at.Key, `is never run: type "prompt" has no effect at `+e.event)
		return
	case kind.Text != "command" && kind.Text != "prompt":
		p.warn(at.Key, fmt.Sprintf("is never run: type %q is not supported; want command or prompt", kind.Text))
		return
	}
	e.timeout = sdk.MaxHookTimeout
	if e.asks = kind.Text == "prompt"; e.asks {
		e.timeout = questionTime
	} else if on(n.Get("async")) && off(n.Get("asyncRewake")) && !p.confined && e.event != stop && e.event != sessionEnd { // at these events tenon may exit, which would end the command
		e.async, e.timeout = true, maxAsyncTime
	}
	limit := max(e.timeout, sdk.MaxHookTimeout)
	p.Each(at, n, func(at checked.Place, name string, n *checked.Node) {
		switch name {
		case "type", "async", "description", "statusMessage", "rewakeMessage", "rewakeSummary": // the last three are for a display that tenon does not have
		case "continueOnBlock": // the turn continues anyway
		case kind.Text:
			e.command = p.text(at, n)
		case "if":
			e.rule = newRule(p.text(at, n))
		case "args":
			e.args = []string{}
			p.list(at, n, func(at checked.Place, n *checked.Node) {
				e.args = append(e.args, p.text(at, n))
			})
		case "timeout":
			e.timeout = p.seconds(at, n, limit)
		case "asyncRewake":
			if !off(n) {
				p.warn(at.Key, "is not supported: the turn waits for the command and uses its answer like any other")
			}
		default:
			if name != "shell" || string(n.Raw) != `"bash"` {
				p.warn(at.Key, "is not supported and has no effect")
			}
		}
	})
	if text := n.Get(kind.Text); text == nil || text.Kind == checked.String && strings.TrimSpace(e.command) == "" {
		p.Bad(at.Member(kind.Text, n.Offset), "missing", "write the "+map[bool]string{true: "question to the model", false: "shell command to run"}[e.asks])
	}
	p.file.entries = append(p.file.entries, e)
}

// text returns the text of a string, and reports another value.
func (p *parser) text(at checked.Place, n *checked.Node) string {
	p.Want(at, n, checked.String)
	return n.Text
}

// on reports whether a switch is set to true.
func on(n *checked.Node) bool { return n != nil && n.Kind == checked.Bool && n.Text == "true" }

// off reports whether a switch is missing or set to false.
func off(n *checked.Node) bool { return n == nil || n.Kind == checked.Bool && n.Text == "false" }

// seconds parses a timeout. It shortens a timeout above the limit with a warning.
func (p *parser) seconds(at checked.Place, n *checked.Node, limit time.Duration) time.Duration {
	seconds, err := strconv.ParseFloat(n.Text, 64)
	if n.Kind != checked.Number || err != nil || seconds <= 0 {
		p.Mismatch(at, "a number of seconds above 0", n)
		return 0
	}
	if seconds > limit.Seconds() {
		p.warn(at.Key, fmt.Sprintf("%v seconds exceed the maximum of %v", seconds, limit))
		return limit
	}
	return max(time.Duration(seconds*float64(time.Second)), time.Millisecond)
}

func (p *parser) warn(where, text string) { p.file.warnings = append(p.file.warnings, where+" "+text) }

package commandhooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

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

// events lists the events in the order a session passes them.
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

// file is the content of a source.
type file struct {
	where    string
	entries  []*entry // those of one event in the order of the file
	warnings []string
}

// entry is one command at one event.
type entry struct {
	event   string
	matcher matcher
	command string
	timeout time.Duration
	where   string // for example PreToolUse[0].hooks[1]
}

// parse parses a source. Errors wrap ErrSource and name file, position and remedy.
func parse(where string, data []byte) (*file, error) {
	f := &file{where: where}
	fields, err := f.object("", data)
	if err != nil {
		return nil, err
	}
	if nested, ok := fields.get("hooks"); ok {
		f.warnUnknown("", fields, "is unknown and has no effect", "hooks", "description", "$schema")
		if fields, err = f.object("hooks", nested); err != nil {
			return nil, err
		}
	}
	f.warnUnknown("", fields, "is not an event of tenon; the events are "+strings.Join(events(), ", "), events()...)
	for _, m := range fields {
		if !slices.Contains(events(), m.name) {
			continue
		}
		groups, err := f.list(m.name, m.value)
		if err != nil {
			return nil, err
		}
		for i, group := range groups {
			if err := f.group(m.name, fmt.Sprintf("%s[%d]", m.name, i), group); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// group parses a matcher and its commands.
func (f *file) group(event, where string, data json.RawMessage) error {
	fields, err := f.object(where, data)
	if err != nil {
		return err
	}
	f.warnUnknown(where+".", fields, "is unknown and has no effect", "matcher", "hooks")
	m, err := f.matcher(event, where+".matcher", fields)
	if err != nil {
		return err
	}
	hooks, ok := fields.get("hooks")
	if !ok {
		return f.bad(where, `missing list "hooks"; write {"hooks": [{"type": "command", "command": "…"}]}`)
	}
	list, err := f.list(where+".hooks", hooks)
	if err != nil {
		return err
	}
	for i, data := range list {
		e := &entry{event: event, matcher: m, timeout: sdk.MaxHookTimeout, where: fmt.Sprintf("%s.hooks[%d]", where, i)}
		if err := f.entry(e, data); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) matcher(event, where string, fields object) (m matcher, err error) {
	data, ok := fields.get("matcher")
	if !ok {
		return m, nil
	}
	text, err := f.text(where, data)
	if err != nil {
		return m, err
	}
	if m, err = newMatcher(text); err != nil {
		return m, f.bad(where, "%v", err)
	}
	if !matches(event) && !m.everything() {
		f.warn(where, "has no effect: "+event+" has nothing to match")
		return matcher{}, nil
	}
	return m, nil
}

// entry parses one command.
func (f *file) entry(e *entry, data json.RawMessage) error {
	fields, err := f.object(e.where, data)
	if err != nil {
		return err
	}
	data, ok := fields.get("type")
	if !ok {
		return f.bad(e.where+".type", `missing; write "type": "command"`)
	}
	kind, err := f.text(e.where+".type", data)
	if err != nil {
		return err
	}
	if kind != "command" {
		f.warn(e.where, fmt.Sprintf("is never run: type %q is not supported; want command", kind))
		return nil
	}
	// statusMessage is for a display that tenon does not have.
	f.warnUnknown(e.where+".", fields, "is not supported and has no effect", "type", "statusMessage", "command", "timeout")
	if data, ok := fields.get("command"); ok {
		if e.command, err = f.text(e.where+".command", data); err != nil {
			return err
		}
	}
	if data, ok := fields.get("timeout"); ok {
		if e.timeout, err = f.seconds(e.where+".timeout", data); err != nil {
			return err
		}
	}
	if strings.TrimSpace(e.command) == "" {
		return f.bad(e.where+".command", "missing; write the shell command to run")
	}
	f.entries = append(f.entries, e)
	return nil
}

// seconds parses a timeout. It shortens a timeout above sdk.MaxHookTimeout with a warning.
func (f *file) seconds(where string, data json.RawMessage) (time.Duration, error) {
	var n float64
	if err := json.Unmarshal(data, &n); err != nil || n <= 0 {
		return 0, f.bad(where, "want a number of seconds above 0, have %.40s", data)
	}
	if limit := sdk.MaxHookTimeout; n > limit.Seconds() {
		f.warn(where, fmt.Sprintf("%v seconds exceed the maximum; the command is killed after %v", n, limit))
		return limit, nil
	}
	return max(time.Duration(n*float64(time.Second)), time.Millisecond), nil
}

func (f *file) text(where string, data json.RawMessage) (string, error) {
	var s *string
	if err := json.Unmarshal(data, &s); err != nil || s == nil {
		return "", f.bad(where, "want a string, have %.40s", data)
	}
	return *s, nil
}

func (f *file) list(where string, data json.RawMessage) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil || list == nil {
		return nil, f.bad(where, "want a list, have %.40s", data)
	}
	return list, nil
}

// object is the fields of a JSON object in order.
type object []member

type member struct {
	name  string
	value json.RawMessage
}

func (o object) get(name string) (json.RawMessage, bool) {
	i := slices.IndexFunc(o, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil, false
	}
	return o[i].value, true
}

// object parses an object. Duplicate fields are an error.
func (f *file) object(where string, data json.RawMessage) (object, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	first, err := d.Token()
	if err != nil {
		return nil, f.bad(where, "not JSON: %v", err)
	}
	if first != json.Delim('{') {
		return nil, f.bad(where, "want an object, have %.40s", bytes.TrimSpace(data))
	}
	var members object
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, f.bad(where, "not JSON: %v", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, f.bad(where, "not JSON: %v", err)
		}
		name, _ := key.(string) // a key is always a string
		if _, twice := members.get(name); twice {
			return nil, f.bad(where, "duplicate field %q; keep one", name)
		}
		members = append(members, member{name, value})
	}
	if _, err := d.Token(); err != nil {
		return nil, f.bad(where, "not JSON: %v", err)
	}
	if d.More() {
		return nil, f.bad(where, "not JSON: unexpected data after the object")
	}
	return members, nil
}

func (f *file) bad(where, format string, args ...any) error {
	if where != "" {
		where = ": " + where
	}
	return fmt.Errorf("%w: %s%s: %s", ErrSource, f.where, where, fmt.Sprintf(format, args...))
}

func (f *file) warn(where, text string) {
	f.warnings = append(f.warnings, where+" "+text)
}

// warnUnknown warns about the fields that are not known.
func (f *file) warnUnknown(prefix string, fields object, text string, known ...string) {
	for _, m := range fields {
		if !slices.Contains(known, m.name) {
			f.warn(prefix+m.name, text)
		}
	}
}

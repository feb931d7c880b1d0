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
	if i := slices.IndexFunc(fields, func(m member) bool { return m.name == "hooks" }); i >= 0 {
		for _, m := range slices.Delete(slices.Clone(fields), i, i+1) {
			if m.name != "description" && m.name != "$schema" {
				f.warn(m.name, "is unknown and has no effect")
			}
		}
		if fields, err = f.object("hooks", fields[i].value); err != nil {
			return nil, err
		}
	}
	for _, m := range fields {
		if !slices.Contains(events(), m.name) {
			f.warn(m.name, "is not an event of tenon; the events are "+strings.Join(events(), ", "))
			continue
		}
		if err := f.event(m.name, m.value); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// event reads the groups of one event.
func (f *file) event(event string, data json.RawMessage) error {
	groups, err := f.list(event, data)
	if err != nil {
		return err
	}
	for i, group := range groups {
		if err := f.group(event, fmt.Sprintf("%s[%d]", event, i), group); err != nil {
			return err
		}
	}
	return nil
}

// group reads a matcher and its commands.
func (f *file) group(event, where string, data json.RawMessage) error {
	fields, err := f.object(where, data)
	if err != nil {
		return err
	}
	var m matcher
	var list []json.RawMessage
	found := false
	for _, field := range fields {
		at := where + "." + field.name
		switch field.name {
		case "matcher":
			text, err := f.text(at, field.value)
			if err != nil {
				return err
			}
			if m, err = newMatcher(text); err != nil {
				return f.bad(at, "%v", err)
			}
			if !matches(event) && !m.everything() {
				f.warn(at, "has no effect: "+event+" has nothing to match")
				m = matcher{}
			}
		case "hooks":
			found = true
			if list, err = f.list(at, field.value); err != nil {
				return err
			}
		default:
			f.warn(at, "is unknown and has no effect")
		}
	}
	if !found {
		return f.bad(where, `missing list "hooks"; write {"hooks": [{"type": "command", "command": "…"}]}`)
	}
	for i, data := range list {
		e := &entry{event: event, matcher: m, timeout: sdk.MaxHookTimeout, where: fmt.Sprintf("%s.hooks[%d]", where, i)}
		if err := f.entry(e, data); err != nil {
			return err
		}
	}
	return nil
}

// entry reads one command.
func (f *file) entry(e *entry, data json.RawMessage) error {
	fields, err := f.object(e.where, data)
	if err != nil {
		return err
	}
	at := func(m member) string { return e.where + "." + m.name }
	i := slices.IndexFunc(fields, func(m member) bool { return m.name == "type" })
	if i < 0 {
		return f.bad(e.where+".type", `missing; write "type": "command"`)
	}
	kind, err := f.text(at(fields[i]), fields[i].value)
	if err != nil {
		return err
	}
	if kind != "command" {
		f.warn(e.where, fmt.Sprintf("is never run: type %q is not supported; want command", kind))
		return nil
	}
	for _, field := range fields {
		switch field.name {
		case "type", "statusMessage": // statusMessage is for a display that tenon does not have
		case "command":
			e.command, err = f.text(at(field), field.value)
		case "timeout":
			e.timeout, err = f.seconds(at(field), field.value)
		default:
			f.warn(at(field), "is not supported and has no effect")
		}
		if err != nil {
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

// member is a field of an object.
type member struct {
	name  string
	value json.RawMessage
}

// object returns the fields of an object in order. Duplicate fields are an error.
func (f *file) object(where string, data json.RawMessage) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	first, err := d.Token()
	if err != nil {
		return nil, f.bad(where, "not JSON: %v", err)
	}
	if first != json.Delim('{') {
		return nil, f.bad(where, "want an object, have %.40s", bytes.TrimSpace(data))
	}
	var members []member
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
		if slices.ContainsFunc(members, func(m member) bool { return m.name == name }) {
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

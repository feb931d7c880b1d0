package interceptor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// Events of the protocol that occur in tenon.
const (
	eventToolCall   = "tools/call"
	eventCompletion = "llm/completion"
)

// interception maps a hook point to an event of interceptors.
type interception struct {
	point          sdk.Point
	event, phase   string
	kinds          []string // types of interceptors called at the point
	reads, writes  []string
	withheldOutput string // pointer of the text that replaces a refused one; "" if a refusal denies or stops

	// payload returns the event's payload, or nil if no interceptor is to be called. It may be called concurrently.
	payload func(names *toolNames, call *sdk.RemoteCall) (json.RawMessage, error)
	// changes converts a changed payload to changes of the hook's value. If nil, the point has nothing to change.
	changes func(call *sdk.RemoteCall, before, after json.RawMessage) ([]sdk.Change, error)
}

// interceptions returns the mappings of the protocol's events, and one of tenon's own event for every hook point.
func interceptions() []*interception {
	both := []string{mutation, validation}
	list := []*interception{
		{
			point: sdk.PointToolBefore, event: eventToolCall, phase: phaseRequest, kinds: []string{mutation},
			reads: []string{"/args"}, writes: []string{"/args"}, payload: toolCallPayload, changes: decoding(toolCallChanges),
		}, {
			point: sdk.PointPermissionAsk, event: eventToolCall, phase: phaseRequest, kinds: []string{validation}, payload: permissionPayload,
		}, {
			point: sdk.PointToolAfter, event: eventToolCall, phase: phaseResponse, kinds: both, withheldOutput: "/output",
			reads: []string{"/output"}, writes: []string{"/output", "/attachments"}, payload: toolResultPayload, changes: decoding(toolResultChanges),
		}, {
			point: sdk.PointChatSystem, event: eventCompletion, phase: phaseRequest, kinds: both,
			reads: []string{"/system"}, writes: []string{"/system"}, payload: systemPayload, changes: decoding(systemChanges),
		}, {
			point: sdk.PointChatMessages, event: eventCompletion, phase: phaseRequest, kinds: both,
			reads:   []string{"/messages/*/parts/*/text", "/messages/*/parts/*/state/output"},
			writes:  []string{"/messages/*/parts/*/text", "/messages/*/parts/*/state/output"},
			payload: messagesPayload, changes: decoding(messagesChanges),
		}, {
			point: sdk.PointChatParams, event: eventCompletion, phase: phaseRequest, kinds: both,
			reads: []string{"/temperature", "/topP", "/maxOutputTokens"}, writes: []string{"/temperature", "/topP", "/maxOutputTokens"},
			payload: paramsPayload, changes: decoding(paramsChanges),
		}, {
			point: sdk.PointTextComplete, event: eventCompletion, phase: phaseResponse, kinds: both, withheldOutput: "/text",
			reads: []string{"/text"}, writes: []string{"/text"}, payload: textPayload, changes: decoding(textChanges),
		},
	}
	for _, info := range hookpoint.All() {
		i := &interception{
			point: info.Point, event: ownEvent + string(info.Point), phase: phaseRequest, kinds: both, payload: ownPayload,
		}
		if info.NewValue != nil {
			i.reads, i.writes, i.changes = []string{""}, []string{""}, decoding(ownChanges)
		}
		list = append(list, i)
	}
	return list
}

// decoding returns a function that decodes both payloads for changes.
func decoding[T any](changes func(call *sdk.RemoteCall, before, after *T) ([]sdk.Change, error)) func(*sdk.RemoteCall, json.RawMessage, json.RawMessage) ([]sdk.Change, error) {
	return func(call *sdk.RemoteCall, before, after json.RawMessage) ([]sdk.Change, error) {
		var a, b T
		if err := errors.Join(json.Unmarshal(before, &a), json.Unmarshal(after, &b)); err != nil {
			return nil, err
		}
		return changes(call, &a, &b)
	}
}

// block returns the answer for a refusal: a verdict if the point has one, else the reason in place of the refused text if that is
// possible, else an error that ends the turn.
func (i *interception) block(reason string) (sdk.Answer, error) {
	info, _ := hookpoint.Of(string(i.point))
	switch {
	case info.Kind == hookpoint.KindObserve:
		return sdk.Answer{}, nil
	case info.Fits(sdk.OnErrorDeny):
		return sdk.Answer{Verdict: sdk.VerdictDeny, Reason: reason}, nil
	case i.withheldOutput == "":
		return sdk.Answer{}, &refused{"refused: " + reason}
	}
	text, err := json.Marshal("[withheld: " + reason + "]")
	if err != nil {
		return sdk.Answer{}, err
	}
	changes := []sdk.Change{{Pointer: i.withheldOutput, Value: text}}
	if i.point == sdk.PointToolAfter {
		changes = append(changes, sdk.Change{Pointer: "/attachments", Value: json.RawMessage("[]")})
	}
	return sdk.Answer{Changes: changes, Reason: reason}, nil
}

// onError returns the policy for a failed chain at the point.
func (i *interception) onError(mustNotFail bool) sdk.OnError {
	info, _ := hookpoint.Of(string(i.point))
	switch {
	case !mustNotFail || info.Kind == hookpoint.KindObserve:
		return sdk.OnErrorSkip
	case info.Fits(sdk.OnErrorDeny):
		return sdk.OnErrorDeny
	}
	return sdk.OnErrorStop
}

// toolNames records the tools of calls, because permission requests contain only the permission's key. It is safe for concurrent use.
type toolNames struct {
	mu    sync.Mutex
	calls []namedCall // oldest first
}

type namedCall struct{ id, tool string }

// maxNamedCalls is the maximum number of recorded calls, more than a few concurrent steps have.
const maxNamedCalls = 256

func (n *toolNames) note(id, tool string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.calls) == maxNamedCalls {
		n.calls = n.calls[1:]
	}
	n.calls = append(n.calls, namedCall{id, tool})
}

func (n *toolNames) of(id string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := len(n.calls) - 1; i >= 0; i-- {
		if n.calls[i].id == id {
			return n.calls[i].tool
		}
	}
	return ""
}

// toolPayload is the payload of tools/call.
type toolPayload struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func toolCallPayload(_ *toolNames, call *sdk.RemoteCall) (json.RawMessage, error) {
	var in struct {
		Tool string `json:"tool"`
	}
	var value struct {
		Args json.RawMessage `json:"args"`
	}
	if err := errors.Join(json.Unmarshal(call.Input, &in), json.Unmarshal(call.Value, &value)); err != nil {
		return nil, err
	}
	return json.Marshal(toolPayload{in.Tool, value.Args})
}

func toolCallChanges(_ *sdk.RemoteCall, a, b *toolPayload) ([]sdk.Change, error) {
	var old, now sdk.ToolBeforeValue
	if err := errors.Join(json.Unmarshal(a.Arguments, &old.Args), json.Unmarshal(b.Arguments, &now.Args)); err != nil {
		return nil, err
	}
	if a.Name != b.Name {
		return nil, fmt.Errorf("the tool cannot be replaced by another (%.100q instead of %q)", b.Name, a.Name)
	}
	return value.Diff[sdk.Change](&old, &now)
}

func permissionPayload(names *toolNames, call *sdk.RemoteCall) (json.RawMessage, error) {
	var in sdk.PermissionRequest
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return nil, err
	}
	if in.Tool == nil {
		return nil, nil // not about a tool call
	}
	name := names.of(in.Tool.CallID)
	name = cmp.Or(name, in.Permission)
	if len(in.Args) == 0 {
		in.Args = json.RawMessage("{}")
	}
	return json.Marshal(toolPayload{name, in.Args})
}

// resultPayload is the payload of a response to tools/call.
type resultPayload struct {
	Content []textContent `json:"content"`
	IsError bool          `json:"isError"`
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func toolResultPayload(_ *toolNames, call *sdk.RemoteCall) (json.RawMessage, error) {
	var in struct {
		Outcome sdk.Outcome `json:"outcome"`
	}
	var value struct {
		Output string `json:"output"`
	}
	if err := errors.Join(json.Unmarshal(call.Input, &in), json.Unmarshal(call.Value, &value)); err != nil {
		return nil, err
	}
	return json.Marshal(resultPayload{[]textContent{{"text", value.Output}}, in.Outcome != sdk.OutcomeOK})
}

func toolResultChanges(_ *sdk.RemoteCall, a, b *resultPayload) ([]sdk.Change, error) {
	return changeText("/output", a.text(), b.text())
}

func (r *resultPayload) text() string {
	texts := make([]string, len(r.Content))
	for i, c := range r.Content {
		texts[i] = c.Text
	}
	return strings.Join(texts, "\n\n")
}

// changeText returns the change of one text, or none if the texts are equal.
func changeText(pointer, before, after string) ([]sdk.Change, error) {
	if before == after {
		return nil, nil
	}
	text, err := json.Marshal(after)
	if err != nil {
		return nil, err
	}
	return []sdk.Change{{Pointer: pointer, Value: text}}, nil
}

// ownValue is the payload of one of tenon's own events.
type ownValue struct {
	Input json.RawMessage `json:"input"`
	Value json.RawMessage `json:"value,omitempty"`
}

func ownPayload(_ *toolNames, call *sdk.RemoteCall) (json.RawMessage, error) {
	return json.Marshal(ownValue{call.Input, call.Value})
}

func ownChanges(call *sdk.RemoteCall, a, b *ownValue) ([]sdk.Change, error) {
	if len(b.Value) == 0 {
		return nil, errors.New("the payload lacks its value")
	}
	return DiffValue(call.Point, a.Value, b.Value)
}

// DiffValue returns the changes between two values of a hook point that has values.
func DiffValue(point sdk.Point, before, after json.RawMessage) ([]sdk.Change, error) {
	info, _ := hookpoint.Of(string(point))
	a, b := info.NewValue(), info.NewValue()
	if err := errors.Join(value.Decode(before, a), value.Decode(after, b)); err != nil {
		return nil, err
	}
	return value.Diff[sdk.Change](a, b)
}

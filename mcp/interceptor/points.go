package interceptor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/jsontext"
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
	mapping
}

// mapping converts between the value of a hook and the payload of an event.
type mapping struct {
	// payload returns the event's payload, or nil if no interceptor is to be called. It may be called concurrently.
	payload func(call *sdk.RemoteCall) (json.RawMessage, error)
	// changes converts a changed payload to changes of the hook's value. If nil, the point has nothing to change.
	changes func(call *sdk.RemoteCall, after json.RawMessage) ([]sdk.Change, error)
}

// interceptions returns the mappings of the protocol's events, and one of tenon's own event for every hook point.
func interceptions() []*interception {
	both := []string{mutation, validation}
	messages := []string{"/messages/*/parts/*/text", "/messages/*/parts/*/state/output"}
	params := []string{"/temperature", "/topP", "/maxOutputTokens"}
	list := []*interception{
		{
			point: sdk.PointToolBefore, event: eventToolCall, phase: phaseRequest, kinds: []string{mutation},
			reads: []string{"/args"}, writes: []string{"/args"}, mapping: mapped(callPayload, setArguments),
		}, {
			point: sdk.PointPermissionAsk, event: eventToolCall, phase: phaseRequest, kinds: []string{validation},
			mapping: mapping{payload: permissionPayload},
		}, {
			point: sdk.PointToolAfter, event: eventToolCall, phase: phaseResponse, kinds: both, withheldOutput: "/output",
			reads: []string{"/output"}, writes: []string{"/output", "/attachments"}, mapping: mapped(resultPayload, setResult),
		}, {
			point: sdk.PointChatSystem, event: eventCompletion, phase: phaseRequest, kinds: both,
			reads: []string{"/system"}, writes: []string{"/system"}, mapping: mapped(systemPayload, setSystem),
		}, {
			point: sdk.PointChatMessages, event: eventCompletion, phase: phaseRequest, kinds: both,
			reads: messages, writes: messages, mapping: mapped(messagesPayload, setMessages),
		}, {
			point: sdk.PointChatParams, event: eventCompletion, phase: phaseRequest, kinds: both,
			reads: params, writes: params, mapping: mapped(paramsPayload, setParams),
		}, {
			point: sdk.PointTextComplete, event: eventCompletion, phase: phaseResponse, kinds: both, withheldOutput: "/text",
			reads: []string{"/text"}, writes: []string{"/text"}, mapping: mapped(textPayload, setText),
		},
	}
	for _, info := range hookpoint.All() {
		i := &interception{
			point: info.Point, event: ownEvent + string(info.Point), phase: phaseRequest, kinds: both, mapping: mapping{payload: ownPayload},
		}
		if info.NewValue != nil {
			i.reads, i.writes, i.changes = []string{""}, []string{""}, ownChanges
		}
		list = append(list, i)
	}
	return list
}

// mapped returns the mapping of an event. payload makes the event's payload from the input and the value of a hook; set changes the
// value to that of a payload that interceptors returned.
func mapped[I, V, P any](payload func(call *sdk.RemoteCall, in *I, v *V) *P, set func(in *I, v *V, p *P) error) mapping {
	decode := func(call *sdk.RemoteCall) (*I, *V, error) {
		in, v := new(I), new(V)
		return in, v, errors.Join(json.Unmarshal(call.Input, in), json.Unmarshal(call.Value, v))
	}
	return mapping{
		payload: func(call *sdk.RemoteCall) (json.RawMessage, error) {
			in, v, err := decode(call)
			if err != nil {
				return nil, err
			}
			return json.Marshal(payload(call, in, v))
		},
		changes: func(call *sdk.RemoteCall, after json.RawMessage) ([]sdk.Change, error) {
			_, before, err := decode(call)
			in, v, _ := decode(call)
			p := new(P)
			if err = errors.Join(err, json.Unmarshal(after, p)); err == nil {
				err = set(in, v, p)
			}
			if err != nil {
				return nil, err
			}
			return value.Diff[sdk.Change](before, v)
		},
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
	changes := []sdk.Change{{Pointer: i.withheldOutput, Value: jsontext.Quote("[withheld: " + reason + "]")}}
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

// toolPayload is the payload of tools/call.
type toolPayload struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// called is the part of sdk.ToolInput that is sent.
type called struct {
	Tool string `json:"tool"`
}

func callPayload(call *sdk.RemoteCall, in *called, _ *sdk.ToolBeforeValue) *toolPayload {
	return &toolPayload{in.Tool, jsontext.Field(call.Value, "args")} // keeps numbers as they are written
}

func setArguments(in *called, v *sdk.ToolBeforeValue, p *toolPayload) error {
	if in.Tool != p.Name {
		return fmt.Errorf("the tool cannot be replaced by another (%.100q instead of %q)", p.Name, in.Tool)
	}
	v.Args = nil
	return json.Unmarshal(p.Arguments, &v.Args)
}

func permissionPayload(call *sdk.RemoteCall) (json.RawMessage, error) {
	var in sdk.PermissionRequest
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return nil, err
	}
	if in.Tool == nil {
		return nil, nil // the hook is not about a tool call
	}
	if len(in.Args) == 0 {
		in.Args = json.RawMessage("{}")
	}
	return json.Marshal(toolPayload{cmp.Or(in.Tool.ID, in.Permission), in.Args})
}

// toolResult is the payload of a response to tools/call.
type toolResult struct {
	Content []textContent `json:"content"`
	IsError bool          `json:"isError"`
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// outcome is the part of sdk.ToolAfterInput that is sent.
type outcome struct {
	Outcome sdk.Outcome `json:"outcome"`
}

// output is the part of sdk.ToolAfterValue that is sent.
type output struct {
	Output string `json:"output"`
}

func resultPayload(_ *sdk.RemoteCall, in *outcome, v *output) *toolResult {
	return &toolResult{[]textContent{{"text", v.Output}}, in.Outcome != sdk.OutcomeOK}
}

func setResult(_ *outcome, v *output, p *toolResult) error {
	texts := make([]string, len(p.Content))
	for i, c := range p.Content {
		texts[i] = c.Text
	}
	v.Output = strings.Join(texts, "\n\n")
	return nil
}

// ownValue is the payload of one of tenon's own events.
type ownValue struct {
	Input json.RawMessage `json:"input"`
	Value json.RawMessage `json:"value,omitempty"`
}

func ownPayload(call *sdk.RemoteCall) (json.RawMessage, error) {
	return json.Marshal(ownValue{call.Input, call.Value})
}

func ownChanges(call *sdk.RemoteCall, after json.RawMessage) ([]sdk.Change, error) {
	var p ownValue
	if err := json.Unmarshal(after, &p); err != nil {
		return nil, err
	}
	if len(p.Value) == 0 || jsontext.IsNull(p.Value) {
		return nil, errors.New("the payload lacks its value")
	}
	return DiffValue(call.Point, call.Value, p.Value)
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

package interceptor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
)

// Types of interceptors.
const (
	validation = "validation"
	mutation   = "mutation"
)

// Phases of an event.
const (
	phaseRequest  = "request"
	phaseResponse = "response"
	phaseBoth     = "both"
)

// Spec is a server's description of an interceptor. Its JSON is part of the stored approvals.
type Spec struct {
	named
	Hooks    []Hook   `json:"hooks"`           // has one element; stored approvals contain a list
	Audit    bool     `json:"audit,omitempty"` // its verdicts and changes are logged but have no effect
	Priority Priority `json:"priority"`
}

// named is the part of a Spec that has the same form on the wire.
type named struct {
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	Type        string `json:"type"`               // validation or mutation
	FailOpen    bool   `json:"failOpen,omitempty"` // its failures are ignored
}

// Hook lists events at which an interceptor is called.
type Hook struct {
	Events []string `json:"events"`
	Phase  string   `json:"phase"` // request, response or both
}

// Priority orders interceptors; lower ones come first.
type Priority struct {
	Request  int `json:"request"`
	Response int `json:"response"`
}

// Decode decodes one element of a server's list of interceptors. It returns an error for an unknown type, mode or phase: ignoring
// the interceptor would disable a check.
func Decode(raw json.RawMessage) (Spec, error) {
	var d struct {
		named
		Hook         Hook            `json:"hook"`
		Mode         string          `json:"mode"`
		PriorityHint json.RawMessage `json:"priorityHint"`
	}
	d.PriorityHint = json.RawMessage("0")
	err := json.Unmarshal(raw, &d)
	d.Hook.Phase, d.Mode = cmp.Or(d.Hook.Phase, phaseBoth), cmp.Or(d.Mode, "enforce")
	i := Spec{named: d.named, Hooks: []Hook{d.Hook}, Audit: d.Mode == "audit"}
	switch {
	case err != nil:
	case d.Name == "":
		err = errors.New("it has no name")
	case d.Type != validation && d.Type != mutation:
		err = fmt.Errorf("unknown type %q", d.Type)
	case d.Mode != "enforce" && d.Mode != "audit":
		err = fmt.Errorf("unknown mode %q", d.Mode)
	case len(d.Hook.Events) == 0:
		err = errors.New("it has no events")
	case d.Hook.Phase != phaseRequest && d.Hook.Phase != phaseResponse && d.Hook.Phase != phaseBoth:
		err = fmt.Errorf("unknown phase %q", d.Hook.Phase)
	default:
		i.Priority, err = decodePriority(d.PriorityHint)
	}
	if err != nil {
		return Spec{}, fmt.Errorf("interceptor %q: %w", d.Name, err)
	}
	return i, nil
}

// decodePriority decodes a number, or one per phase.
func decodePriority(raw json.RawMessage) (Priority, error) {
	var both float64
	var each struct{ Request, Response float64 }
	if json.Unmarshal(raw, &both) == nil {
		each.Request, each.Response = both, both
	} else if json.Unmarshal(raw, &each) != nil {
		return Priority{}, errors.New("priorityHint is neither a number nor one per phase")
	}
	return Priority{toInt(each.Request), toInt(each.Response)}, nil
}

func toInt(f float64) int { return int(max(min(math.Round(f), math.MaxInt32), math.MinInt32)) }

func (i *Spec) priority(phase string) int {
	if phase == phaseResponse {
		return i.Priority.Response
	}
	return i.Priority.Request
}

// ownEvent is the prefix of tenon's own events, one for every hook point.
const ownEvent = "tenon/"

// listensTo reports whether the interceptor is called at the event in the phase. The wildcards *, */request and */response match the
// events of the protocol; tenon/* matches tenon's own.
func (i *Spec) listensTo(event, phase string) bool {
	names := []string{event, "*", "*/" + phase}
	if strings.HasPrefix(event, ownEvent) {
		names = []string{event, ownEvent + "*"}
	}
	return slices.ContainsFunc(i.Hooks, func(h Hook) bool {
		return (h.Phase == phase || h.Phase == phaseBoth) && slices.ContainsFunc(h.Events, func(e string) bool { return slices.Contains(names, e) })
	})
}

// inOrder returns the interceptors that are called, in the order of the calls of each type.
func (at *interception) inOrder(list []Spec) []Spec {
	list = slices.DeleteFunc(slices.Clone(list), func(i Spec) bool { return !slices.Contains(at.kinds, i.Type) || !i.listensTo(at.event, at.phase) })
	slices.SortStableFunc(list, func(a, b Spec) int {
		return cmp.Or(cmp.Compare(a.priority(at.phase), b.priority(at.phase)), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// verdict is the answer of a validation.
type verdict struct {
	blocks bool
	reason string
}

// decodeValidation decodes the answer of a validation. It blocks an invalid payload if the severity is error or missing.
func decodeValidation(raw json.RawMessage) (verdict, error) {
	var a struct {
		Valid    *bool
		Severity string
		Messages []struct{ Path, Message, Severity string }
	}
	switch err := json.Unmarshal(raw, &a); {
	case err != nil:
		return verdict{}, fmt.Errorf("invalid answer: %w", err)
	case a.Valid == nil:
		return verdict{}, errors.New("its answer lacks the field valid")
	case *a.Valid:
		return verdict{}, nil
	}
	severities := []string{a.Severity}
	var reasons []string
	for _, m := range a.Messages {
		if a.Severity == "" && m.Severity != "" {
			severities = append(severities, m.Severity)
		}
		text := visible.Bound(m.Message, 1<<10)
		if m.Path != "" {
			text = visible.Bound(m.Path, 200) + ": " + text
		}
		reasons = append(reasons, text)
	}
	missing := len(severities) == 1 && a.Severity == ""
	return verdict{missing || slices.Contains(severities, "error"), cmp.Or(strings.Join(reasons, "; "), "it is not valid")}, nil
}

// decodeMutation decodes the answer of a mutation; nil if it changed nothing.
func decodeMutation(raw json.RawMessage) (json.RawMessage, error) {
	var a struct {
		Modified *bool           `json:"modified"`
		Payload  json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("invalid answer: %w", err)
	}
	switch {
	case a.Modified == nil:
		return nil, errors.New("its answer lacks the field modified")
	case !*a.Modified:
		return nil, nil
	case len(a.Payload) == 0 || string(a.Payload) == "null":
		return nil, errors.New("its answer has a modified payload, but the field payload is missing")
	}
	return a.Payload, nil
}

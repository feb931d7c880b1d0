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
	Hooks    []Hook   `json:"hooks"`           // one; stored approvals contain a list
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

// Priority orders interceptors, lower first.
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
	if err := json.Unmarshal(raw, &d); err != nil {
		return Spec{}, err
	}
	bad := func(format string, args ...any) (Spec, error) {
		return Spec{}, fmt.Errorf("interceptor %q: "+format, append([]any{d.Name}, args...)...)
	}
	i := Spec{named: d.named, Hooks: []Hook{d.Hook}}
	switch {
	case d.Name == "":
		return Spec{}, errors.New("an interceptor has no name")
	case d.Type != validation && d.Type != mutation:
		return bad("unknown type %q", d.Type)
	}
	switch d.Mode {
	case "", "enforce":
	case "audit":
		i.Audit = true
	default:
		return bad("unknown mode %q", d.Mode)
	}
	if len(d.Hook.Events) == 0 {
		return bad("it has no events")
	}
	switch d.Hook.Phase {
	case phaseRequest, phaseResponse, phaseBoth:
	case "":
		i.Hooks[0].Phase = phaseBoth
	default:
		return bad("unknown phase %q", d.Hook.Phase)
	}
	var err error
	if i.Priority, err = decodePriority(d.PriorityHint); err != nil {
		return bad("%w", err)
	}
	return i, nil
}

// decodePriority decodes a number, or one per phase.
func decodePriority(raw json.RawMessage) (Priority, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return Priority{}, nil
	}
	var both float64
	if json.Unmarshal(raw, &both) == nil {
		return Priority{toInt(both), toInt(both)}, nil
	}
	var each struct {
		Request  float64 `json:"request"`
		Response float64 `json:"response"`
	}
	if err := json.Unmarshal(raw, &each); err != nil {
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
	own := strings.HasPrefix(event, ownEvent)
	for _, h := range i.Hooks {
		if h.Phase != phase && h.Phase != phaseBoth {
			continue
		}
		for _, e := range h.Events {
			switch {
			case e == event, own && e == ownEvent+"*", !own && (e == "*" || e == "*/"+phase):
				return true
			}
		}
	}
	return false
}

// inOrder returns the interceptors that are called, in the order of the calls of each type.
func (at *interception) inOrder(list []Spec) []Spec {
	var out []Spec
	for _, i := range list {
		if slices.Contains(at.kinds, i.Type) && i.listensTo(at.event, at.phase) {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b Spec) int {
		return cmp.Or(cmp.Compare(a.priority(at.phase), b.priority(at.phase)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// verdict is the answer of a validation.
type verdict struct {
	blocks bool
	reason string
}

// validationAnswer is the wire form of a verdict.
type validationAnswer struct {
	Valid    *bool  `json:"valid"`
	Severity string `json:"severity"`
	Messages []struct {
		Path     string `json:"path"`
		Message  string `json:"message"`
		Severity string `json:"severity"`
	} `json:"messages"`
}

// decodeValidation decodes the answer of a validation. A payload that is not valid is blocked if the severity is error or missing.
func decodeValidation(raw json.RawMessage) (verdict, error) {
	var a validationAnswer
	if err := json.Unmarshal(raw, &a); err != nil {
		return verdict{}, fmt.Errorf("invalid answer: %w", err)
	}
	if a.Valid == nil {
		return verdict{}, errors.New("its answer lacks the field valid")
	}
	if *a.Valid {
		return verdict{}, nil
	}
	severe := a.Severity == "error"
	named := a.Severity != ""
	var reasons []string
	for _, m := range a.Messages {
		named = named || m.Severity != ""
		if a.Severity == "" && m.Severity == "error" {
			severe = true
		}
		text := visible.Bound(m.Message, 1<<10)
		if m.Path != "" {
			text = visible.Bound(m.Path, 200) + ": " + text
		}
		reasons = append(reasons, text)
	}
	if len(reasons) == 0 {
		reasons = []string{"it is not valid"}
	}
	return verdict{blocks: severe || !named, reason: strings.Join(reasons, "; ")}, nil
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

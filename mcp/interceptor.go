package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// This file reads what a server says of its interceptors: an extension of the protocol that is still a draft (SEP-2624,
// https://github.com/modelcontextprotocol/experimental-ext-interceptors). Where its versions differ all of them are read.

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

// Interceptor is an interceptor as the server describes it.
type Interceptor struct {
	Name        string            `json:"name"`
	Version     string            `json:"version,omitempty"`
	Description string            `json:"description,omitempty"`
	Type        string            `json:"type"` // validation or mutation
	Hooks       []InterceptorHook `json:"hooks"`
	// Audit says that its verdicts and changes are made, but not heeded.
	Audit bool `json:"audit,omitempty"`
	// FailOpen says that things go on without it when it fails.
	FailOpen bool     `json:"failOpen,omitempty"`
	Priority Priority `json:"priority"`
}

// InterceptorHook says when an interceptor is called.
type InterceptorHook struct {
	Events []string `json:"events"`
	Phase  string   `json:"phase"` // request, response or both
}

// Priority orders interceptors, lower first.
type Priority struct {
	Request  int `json:"request"`
	Response int `json:"response"`
}

// describedInterceptor is an interceptor in any of the forms it has on the wire.
type describedInterceptor struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	Type         string            `json:"type"`
	Hook         *InterceptorHook  `json:"hook"`
	Hooks        []InterceptorHook `json:"hooks"`
	Events       []string          `json:"events"` // the first draft
	Phase        string            `json:"phase"`
	Mode         string            `json:"mode"`
	FailOpen     bool              `json:"failOpen"`
	PriorityHint json.RawMessage   `json:"priorityHint"`
}

// decodeInterceptor decodes one element of a list of interceptors. An interceptor that cannot be understood is an error: it must not
// be overlooked.
func decodeInterceptor(raw json.RawMessage) (Interceptor, error) {
	var d describedInterceptor
	if err := json.Unmarshal(raw, &d); err != nil {
		return Interceptor{}, err
	}
	bad := func(format string, args ...any) (Interceptor, error) {
		return Interceptor{}, fmt.Errorf("interceptor %q: "+format, append([]any{d.Name}, args...)...)
	}
	i := Interceptor{Name: d.Name, Version: d.Version, Description: d.Description, Type: d.Type, Hooks: d.Hooks, FailOpen: d.FailOpen}
	switch {
	case d.Name == "":
		return Interceptor{}, errors.New("an interceptor has no name")
	case d.Type != validation && d.Type != mutation:
		return bad("unknown type %q", d.Type)
	}
	switch d.Mode {
	case "", "enforce", "active":
	case "audit":
		i.Audit = true
	default:
		return bad("unknown mode %q", d.Mode)
	}
	if d.Hook != nil {
		i.Hooks = append(i.Hooks, *d.Hook)
	}
	if len(d.Events) > 0 {
		i.Hooks = append(i.Hooks, InterceptorHook{d.Events, d.Phase})
	}
	if len(i.Hooks) == 0 {
		return bad("it says no event")
	}
	for at := range i.Hooks {
		switch i.Hooks[at].Phase {
		case phaseRequest, phaseResponse, phaseBoth:
		case "":
			i.Hooks[at].Phase = phaseBoth
		default:
			return bad("unknown phase %q", i.Hooks[at].Phase)
		}
	}
	var err error
	if i.Priority, err = decodePriority(d.PriorityHint); err != nil {
		return bad("%w", err)
	}
	return i, nil
}

// decodePriority reads a number or one per phase.
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

func (i *Interceptor) priority(phase string) int {
	if phase == phaseResponse {
		return i.Priority.Response
	}
	return i.Priority.Request
}

// ownEvent is the event of a hook point that the protocol has no event for.
const ownEvent = "tenon/"

// listensTo reports whether the interceptor wants the event in the phase. The wildcards *, */request and */response stand for the
// events of the protocol; tenon/* stands for our own.
func (i *Interceptor) listensTo(event, phase string) bool {
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

// inOrder returns the interceptors of a type that want an event, in the order they are called.
func inOrder(list []Interceptor, kind, event, phase string) []Interceptor {
	var out []Interceptor
	for _, i := range list {
		if i.Type == kind && i.listensTo(event, phase) {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b Interceptor) int {
		return cmp.Or(cmp.Compare(a.priority(phase), b.priority(phase)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// verdict is what a validation answered.
type verdict struct {
	blocks bool
	reason string
}

// validationAnswer is the answer of a validation.
type validationAnswer struct {
	Valid    *bool  `json:"valid"`
	Severity string `json:"severity"`
	Messages []struct {
		Path     string `json:"path"`
		Message  string `json:"message"`
		Severity string `json:"severity"`
	} `json:"messages"`
}

// decodeValidation reads the answer of a validation. Only the severity error blocks; an answer that is not valid and names no
// severity at all does, too.
func decodeValidation(raw json.RawMessage) (verdict, error) {
	var outer struct {
		Validation *validationAnswer `json:"validation"`
		validationAnswer
	}
	if err := json.Unmarshal(raw, &outer); err != nil {
		return verdict{}, fmt.Errorf("its answer cannot be read: %w", err)
	}
	a := &outer.validationAnswer
	if outer.Validation != nil {
		a = outer.Validation
	}
	if a.Valid == nil {
		return verdict{}, errors.New("its answer does not say whether the payload is valid")
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
		text := bound(m.Message, 1<<10)
		if m.Path != "" {
			text = bound(m.Path, 200) + ": " + text
		}
		reasons = append(reasons, text)
	}
	if len(reasons) == 0 {
		reasons = []string{"it is not valid"}
	}
	return verdict{blocks: severe || !named, reason: strings.Join(reasons, "; ")}, nil
}

// decodeMutation reads the answer of a mutation; nil when it changed nothing.
func decodeMutation(raw json.RawMessage) (json.RawMessage, error) {
	type answer struct {
		Modified *bool           `json:"modified"`
		Payload  json.RawMessage `json:"payload"`
	}
	var outer struct {
		Mutation *answer `json:"mutation"`
		answer
	}
	if err := json.Unmarshal(raw, &outer); err != nil {
		return nil, fmt.Errorf("its answer cannot be read: %w", err)
	}
	a := &outer.answer
	if outer.Mutation != nil {
		a = outer.Mutation
		if a.Payload == nil {
			a.Payload = outer.Payload
		}
	}
	switch {
	case a.Modified == nil:
		return nil, errors.New("its answer does not say whether the payload was modified")
	case !*a.Modified:
		return nil, nil
	case len(a.Payload) == 0 || string(a.Payload) == "null":
		return nil, errors.New("it says that it modified the payload, which is missing")
	}
	return a.Payload, nil
}

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// The plugin that the suite runs over every carrier: these files of tests. It has a hook at every point and several tools. Its options define their
// behavior, so that one compiled guest serves every case. It is deterministic.

// Name is the name of the plugin.
const Name = "conformance"

// Version is the version of the plugin.
const Version = "1.2.3"

// Again is the name of a second hook at chat.system.transform.
const Again = "again"

// Options define the behavior of the plugin.
type Options struct {
	Hooks map[string]Script `json:"hooks,omitempty"` // by the name of the hook
	Start Script            `json:"start,omitzero"`  // behavior at the start: Record, Fault and Error
}

// Script lists the actions of a hook, in the order of the fields.
type Script struct {
	// When restricts the script to calls whose input, as JSON, contains this text.
	When string `json:"when,omitempty"`
	// Otherwise is the script for the other calls.
	Otherwise *Script `json:"otherwise,omitempty"`
	// Record is the key under which the call is stored as it arrived. The tool "recorded" returns it.
	Record string `json:"record,omitempty"`
	Fault  Fault  `json:"fault,omitempty"`
	Excess Excess `json:"excess,omitempty"` // replaces the changes of Set and the fields after it
	Error  string `json:"error,omitempty"`  // the handler fails with this text
	// Set lists changes of the value.
	Set []sdk.Change `json:"set,omitempty"`
	// Input, Value and Count are pointers into the value. The hook sets them to the input and the value as they arrived, as JSON in a string,
	// and to the number of calls in this memory.
	Input string `json:"input,omitempty"`
	Value string `json:"value,omitempty"`
	Count string `json:"count,omitempty"`

	Verdict sdk.Verdict `json:"verdict,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Message string      `json:"message,omitempty"`
}

// Recorded is a call as it arrived.
type Recorded struct {
	Input json.RawMessage `json:"input"`
	Value json.RawMessage `json:"value,omitempty"`
}

// call is a Recorded before it is encoded.
type call struct {
	Input any `json:"input"`
	Value any `json:"value,omitempty"`
}

// Started is the start data of the plugin; stored under Options.Start.Record.
type Started struct {
	Options json.RawMessage `json:"options"`
	Project sdk.Project     `json:"project"`
}

// Plugin is the conformance plugin.
type Plugin struct {
	sdk.Bundle
	// Exit ends the process; the main packages set it. Default: nothing happens.
	Exit func(code int)

	host    sdk.Host
	options Options
	calls   atomic.Int64
}

// New returns the plugin for a carrier, with all its hooks and tools.
func New(carrier sdk.Carrier) *Plugin {
	p := &Plugin{Exit: func(int) {}}
	p.Bundle = sdk.Bundle{
		Info: sdk.Manifest{
			Name: Name, Version: Version, Description: "Does what the conformance suite asks for.", Carrier: carrier,
			Capabilities: Capabilities(),
		},
		HookList: p.hooks(),
		ToolList: p.tools(),
		OnStart:  p.start,

		AuthList: p.authMethods(), ProtocolList: protocols(),
	}
	return p
}

// Capabilities returns all capabilities that the plugin uses.
func Capabilities() []sdk.Capability {
	return []sdk.Capability{
		{Name: sdk.CapabilityKV},
		{Name: sdk.CapabilityTool, Scope: []string{"helper"}},
		{Name: sdk.CapabilityAsk},
		{Name: sdk.CapabilitySecret, Scope: []string{"CONFORMANCE_SECRET"}},
		{Name: sdk.CapabilityAuth, Scope: []string{Provider}},
	}
}

func (p *Plugin) start(ctx context.Context, h sdk.Host) error {
	p.host = h
	p.options = Options{}
	if raw := h.Options(); len(raw) > 0 {
		if err := json.Unmarshal(raw, &p.options); err != nil {
			return fmt.Errorf("options: %w", err)
		}
	}
	return p.act(ctx, &p.options.Start, Started{Options: h.Options(), Project: h.Project()})
}

// act executes the part of a script that the start has too. call is what Record stores.
func (p *Plugin) act(ctx context.Context, s *Script, call any) error {
	if s.Record != "" {
		raw, err := json.Marshal(call)
		if err == nil {
			err = p.keep(ctx, s.Record, raw)
		}
		if err != nil {
			return err
		}
	}
	if err := p.commit(ctx, s.Fault); err != nil {
		return err
	}
	if s.Error != "" {
		return errors.New(s.Error)
	}
	return nil
}

// run executes the script of a hook, except for its verdict, and returns the script.
func (p *Plugin) run(ctx context.Context, hook string, in, v any) (Script, error) {
	n := p.calls.Add(1)
	s, err := p.options.Hooks[hook].of(in)
	if err != nil {
		return s, err
	}
	if err := p.act(ctx, &s, call{in, v}); err != nil || v == nil {
		return s, err
	}
	changes, err := s.changes(in, v, n)
	if err != nil {
		return s, err
	}
	return s, value.Apply(v, changes)
}

// of returns the script for a call with the input.
func (s Script) of(in any) (Script, error) {
	raw, err := json.Marshal(in)
	for !bytes.Contains(raw, []byte(s.When)) {
		if s.Otherwise == nil {
			return Script{}, err
		}
		s = *s.Otherwise
	}
	return s, err
}

func (s *Script) changes(in, value any, calls int64) ([]sdk.Change, error) {
	changes := slices.Clone(s.Set)
	for _, place := range []struct {
		pointer string
		what    any
	}{{s.Input, in}, {s.Value, value}, {s.Count, calls}} {
		if place.pointer == "" {
			continue
		}
		raw, err := json.Marshal(place.what)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(string(raw))
		if err != nil {
			return nil, err
		}
		changes = append(changes, sdk.Change{Pointer: place.pointer, Value: text})
	}
	return changes, nil
}

// keep stores a value for the tool "recorded".
func (p *Plugin) keep(ctx context.Context, key string, value []byte) error {
	return p.host.(sdk.KeyValue).Set(ctx, key, value)
}

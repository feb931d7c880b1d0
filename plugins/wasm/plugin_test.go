package wasm_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

func TestHook(t *testing.T) {
	t.Parallel()
	p := started(t, newRuntime(t, wasm.Options{}), remote.Unit{Program: module("echo.wasm"), Description: toolBefore()}, host{})
	h := p.(sdk.Hooker).Hooks()[0]
	got, err := h.Remote.HandleRemote(t.Context(), &sdk.RemoteCall{Point: h.Point, Input: []byte(`{"sessionID":"a"}`), Value: []byte(`{"args":{}}`)})
	want := sdk.Answer{Changes: []sdk.Change{{Pointer: "/args/x", Value: []byte("1")}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("answer (-want +got), error %v:\n%s", err, diff)
	}
}

// The guest in C finds its field in the request the host put together.
func TestGuestInC(t *testing.T) {
	t.Parallel()
	p := started(t, newRuntime(t, wasm.Options{}), remote.Unit{Program: module("c/mark.wasm"), Description: toolBefore()}, host{})
	h := p.(sdk.Hooker).Hooks()[0]
	for value, want := range map[string][]sdk.Change{
		`{"args":{"command":"ls -l"}}`:                                {{Pointer: "/args/marked", Value: []byte("5")}},
		`{"args":{"command":"` + strings.Repeat("x", 200_000) + `"}}`: {{Pointer: "/args/marked", Value: []byte("200000")}},
		`{"args":{}}`: nil,
	} {
		got, err := h.Remote.HandleRemote(t.Context(), &sdk.RemoteCall{Point: h.Point, Input: []byte(`{}`), Value: []byte(value)})
		if diff := cmp.Diff(want, got.Changes); err != nil || diff != "" {
			t.Errorf("%.40s: changes (-want +got), error %v:\n%s", value, err, diff)
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	tools := []sdk.ToolDescription{
		{ToolDefinition: sdk.ToolDefinition{ID: "plain", Description: "d", Parameters: []byte(`{"type":"object"}`)}},
		{ToolDefinition: sdk.ToolDefinition{ID: "own"}, Permission: "edit", Prepares: true, TimeoutMS: 1500},
	}
	p := started(t, newRuntime(t, wasm.Options{}), remote.Unit{Program: module("echo.wasm"), Description: sdk.Description{Tools: tools}}, host{})
	for n, c := range []struct {
		permission string
		deadline   time.Duration
		prepares   bool
	}{{"plain", sdk.DefaultToolTimeout, false}, {"edit", 1500 * time.Millisecond, true}} {
		tool := p.(sdk.ToolSource).Tools()[n]
		want := tools[n].ToolDefinition
		want.Parameters = []byte(`{"type":"object"}`)
		if diff := cmp.Diff(want, tool.Definition()); diff != "" {
			t.Errorf("definition (-want +got):\n%s", diff)
		}
		preparer, prepares := tool.(sdk.ToolPreparer)
		if got := tool.(sdk.ToolPermission).Permission(); got != c.permission || prepares != c.prepares || tool.(sdk.ToolDeadline).Deadline() != c.deadline {
			t.Errorf("tool %d: permission %q, prepares %v, deadline %v", n, got, prepares, tool.(sdk.ToolDeadline).Deadline())
		}
		call := &sdk.ToolCall{Tool: tool.Definition().ID, SessionID: "ses_1", Args: []byte(`{}`)}
		got, err := tool.Execute(t.Context(), call)
		if diff := cmp.Diff(&sdk.ToolResult{Title: "t", Output: "done"}, got); err != nil || diff != "" {
			t.Errorf("result (-want +got), error %v:\n%s", err, diff)
		}
		if prepares {
			if requests, err := preparer.Prepare(t.Context(), call); !errors.Is(err, sdk.ErrWire) { // the guest answers with a result
				t.Errorf("prepare: %v, %v, want an error", requests, err)
			}
		}
	}
}

// large returns a module with so many functions that compiling it takes a while.
func large(functions int) []byte {
	appendNumber := func(b []byte, n int) []byte {
		for n >= 0x80 {
			b, n = append(b, byte(n)|0x80), n>>7
		}
		return append(b, byte(n))
	}
	section := func(out []byte, id byte, content []byte) []byte {
		return append(appendNumber(append(out, id), len(content)), content...)
	}
	vector := func(n int, one ...byte) []byte { return append(appendNumber(nil, n), bytes.Repeat(one, n)...) }
	export := func(name string, kind, index byte) []byte {
		return append(append([]byte{byte(len(name))}, name...), kind, index)
	}
	out := section([]byte("\x00asm\x01\x00\x00\x00"), 1, []byte{2, 0x60, 0, 1, 0x7f, 0x60, 2, 0x7f, 0x7f, 1, 0x7f})
	out = section(out, 3, append(appendNumber(nil, functions+2), append([]byte{0, 1}, bytes.Repeat([]byte{0}, functions)...)...))
	out = section(out, 5, []byte{1, 0, 1})
	exports := append(append([]byte{3}, export("memory", 2, 0)...), export("tenon_abi", 0, 0)...)
	out = section(out, 7, append(exports, export("tenon_call", 0, 1)...))
	code := append(appendNumber(nil, functions+2), 6, 0, 0x41, 0x80, 0x80, 0x04, 0x0b, 4, 0, 0x41, 2, 0x0b)
	return section(out, 10, append(code, vector(functions, 4, 0, 0x41, 7, 0x0b)[len(appendNumber(nil, functions)):]...))
}

// A call whose time ends while the module is compiled says so, and a later one finds it done.
func TestCompiling(t *testing.T) {
	t.Parallel()
	spec := remote.Unit{Program: moduleOf(t, large(5_000)), Description: sdk.Description{Hooks: gates(1)}}
	p := started(t, newRuntime(t, wasm.Options{}), spec, host{})
	ready := p.(sdk.Hooker).Hooks()[0].Remote.(hooks.RemoteReadier).Ready
	if _, err := ready(); err != nil {
		t.Errorf("Ready before anybody asked = %v", err)
	}
	// On a busy machine, the time may end before the call asks for the module.
	for timeout := time.Millisecond; ; timeout *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		_, err := ask(ctx, p, 0, "")
		cancel()
		if errors.Is(err, wasm.ErrCompiling) && errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error = %v, want %v", err, wasm.ErrCompiling)
		}
	}
	if _, err := ready(); !errors.Is(err, hooks.ErrNotCalled) {
		t.Errorf("Ready = %v, want %v", err, hooks.ErrNotCalled)
	}
	if _, err := ask(t.Context(), p, 0, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := ready(); err != nil {
		t.Errorf("Ready of a compiled module = %v", err)
	}
	slow := started(t, newRuntime(t, wasm.Options{CompileTimeout: time.Nanosecond}), spec, host{})
	if _, err := ask(t.Context(), slow, 0, ""); !errors.Is(err, wasm.ErrModule) || !strings.Contains(err.Error(), "longer than 1ns") {
		t.Errorf("error = %v", err)
	}
}

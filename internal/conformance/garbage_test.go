package conformance_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

// guestModules are modules that go wrong in ways that Go guests cannot.
func guestModules() map[string][]byte {
	out := map[string][]byte{}
	say := func(answer string) []byte {
		return guestModule{answer: answer, body: answers(0, int64(len(answer)), 0)}.bytes()
	}
	out["answer is not JSON"] = say("garbage \x00\xff")
	out["answer is a list"] = say(`[1, 2]`)
	out["answer has a bad change"] = say(`{"changes": [{"pointer": "nope", "value": 1}]}`)
	out["answer has a bad verdict"] = say(`{"verdict": "maybe"}`)
	out["answer has a misspelled verdict"] = say(`{"verdit": "deny", "reason": "no"}`)
	out["answer is deep"] = say(`{"changes": ` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`)
	out["error is not text"] = guestModule{answer: "\xff\xfe\x00bad\n\x1b[31mline", body: answers(0, 15, 1)}.bytes()
	out["unknown result"] = guestModule{body: i32(99)}.bytes()
	out["answer outside of memory"] = guestModule{body: answers(-16, 100, 0)}.bytes()
	out["answer too large"] = guestModule{pages: 256, body: answers(0, 16<<20, 0)}.bytes()
	out["trap"] = guestModule{body: []byte{opUnreachable}}.bytes()
	out["loop"] = guestModule{body: forever(nil)}.bytes()
	out["recursion"] = guestModule{body: slices.Concat([]byte{opLocalGet, 0, opLocalGet, 1, opCall, fnTenonCall})}.bytes()
	out["loop at start"] = guestModule{start: forever(nil), body: i32(2)}.bytes()
	out["trap at start"] = guestModule{start: []byte{opUnreachable}, body: i32(2)}.bytes()
	out["host call outside of memory"] = guestModule{body: slices.Concat(call(fnHostCall, -8, 4, 0, 0), []byte{opDrop}, i32(2))}.bytes()
	out["host call of an endless request"] = guestModule{body: slices.Concat(call(fnHostCall, 0, 1, 0, -1), []byte{opDrop}, i32(2))}.bytes()
	out["host calls without end"] = guestModule{answer: "time", body: forever(slices.Concat(call(fnHostCall, 0, 4, 0, 0), []byte{opDrop}))}.bytes()
	out["lines without end"] = guestModule{answer: "drip", body: forever(call(fnLog, 8, 0, 4))}.bytes()
	out["another ABI"] = guestModule{abi: 2 << 16, body: i32(2)}.bytes()
	out["no tenon_call"] = guestModule{noCall: true, body: i32(2)}.bytes()
	out["too much memory"] = guestModule{pages: 60_000, body: i32(2)}.bytes()
	out["no module"] = []byte("\x00asm\x01\x00\x00\x00 and then garbage")
	out["nothing"] = []byte{0}
	return out
}

// TestGuestModules runs turns with modules that no compiler would produce.
func TestGuestModules(t *testing.T) {
	t.Parallel()
	r, modules := shop.runtime, guestModules()
	for name, module := range modules {
		for _, at := range []place{{sdk.PointToolBefore, 1}, {sdk.PointPermissionAsk, 1}} {
			t.Run(name+" "+string(at.point), func(t *testing.T) {
				contained(t, at, func(t *testing.T) sdk.Plugin { return openModule(t, r, at.point, module) })
			})
		}
	}
}

// TestGuestModuleWorks shows that the modules of TestGuestModules are well formed except for their fault.
func TestGuestModuleWorks(t *testing.T) {
	t.Parallel()
	r := shop.runtime
	answer := `{"changes": [{"pointer": "/args/text", "value": "changed"}]}`
	module := guestModule{answer: answer, start: []byte{}, body: answers(0, int64(len(answer)), 0)}.bytes()
	m := newMachine(t, openModule(t, r, sdk.PointToolBefore, module))
	if got := m.turn(); got.result != `{"text":"changed"}` || len(m.told.about(conformance.Name)) > 0 {
		t.Errorf("result %q, lines %q", got.result, m.told.about(conformance.Name))
	}
}

func openModule(t *testing.T, r *wasm.Runtime, point sdk.Point, module []byte) sdk.Plugin {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.wasm")
	if err := os.WriteFile(path, module, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := r.Open(remote.Unit{
		Description: sdk.Description{Name: conformance.Name, Hooks: []sdk.HookDescription{hookAt(point, sureTimeout)}},
		Program:     path,
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = p.(remote.Precompiler).Precompile(t.Context()) // a call that waits for the compiler does not count as a failure; the next gets its error
	return p
}

// TestBadProcesses runs turns with executables installed, as plugins and as MCP servers, that are neither.
func TestBadProcesses(t *testing.T) {
	t.Parallel()
	carriers := map[string]struct {
		faults []string
		open   func(t *testing.T, fault string, hook sdk.HookDescription) sdk.Plugin
	}{
		"process": {
			[]string{
				"silent", "exit", "garbage", "flood", "drip", "deaf peer", "garbage peer", "dripping peer",
				"deaf lines", "garbage lines", "endless line",
			},
			func(t *testing.T, fault string, hook sdk.HookDescription) sdk.Plugin {
				return openProcess(t, fault, hook)
			},
		},
		"mcp": {
			[]string{"silent", "exit", "garbage", "flood", "drip"},
			func(t *testing.T, fault string, hook sdk.HookDescription) sdk.Plugin {
				return openServer(t, fault, hook)
			},
		},
	}
	for name, c := range carriers {
		for i, fault := range c.faults {
			for _, at := range some([]place{{sdk.PointToolBefore, 1}, {sdk.PointPermissionAsk, 1}, {sdk.PointEvent, 0}}, 2, i) {
				t.Run(name+" "+fault+" "+string(at.point), func(t *testing.T) {
					contained(t, at, func(t *testing.T) sdk.Plugin { return c.open(t, fault, hookAt(at.point, sureTimeout)) })
				})
			}
		}
	}
}

func openProcess(t *testing.T, fault string, hook sdk.HookDescription) sdk.Plugin {
	t.Helper()
	p, err := process.New(process.Options{StartTimeout: time.Second}).Open(remote.Unit{
		Description: sdk.Description{Name: conformance.Name, Hooks: []sdk.HookDescription{hook}}, Command: []string{program(t), fault}, Env: map[string]string{guestEnv: guestFault},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func openServer(t *testing.T, fault string, hook sdk.HookDescription) sdk.Plugin {
	t.Helper()
	s := mcp.Server{
		Name: conformance.Name, Transport: mcp.TransportStdio, Command: program(t), Args: []string{fault}, Cwd: t.TempDir(), Own: true, Timeout: 2 * time.Second,
		Env: map[string]string{guestEnv: guestFault},
		Hooks: []sdk.MCPHookConfig{{
			Tool:            "hook",
			HookDescription: sdk.HookDescription{Point: hook.Point, Name: hook.Point, Reads: hook.Reads, Writes: hook.Writes, TimeoutMS: hook.TimeoutMS},
		}},
	}
	return &configured{Plugin: mcpPlugin(t, s, false)}
}

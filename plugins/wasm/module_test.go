package wasm_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

// A module that violates the ABI is an error that says how.
func TestBadModules(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Options{})
	for name, c := range map[string]struct {
		is   error
		text string
	}{
		"nothing":        {wasm.ErrModule, `no memory with the name "memory"`},
		"nomemory":       {wasm.ErrModule, `no memory with the name "memory"`},
		"hiddenmemory":   {wasm.ErrModule, `no memory with the name "memory"`},
		"importedmemory": {wasm.ErrModule, `memory "memory" from "env"`},
		"nocall":         {wasm.ErrModule, "function tenon_call"},
		"wrongcall":      {wasm.ErrModule, "function tenon_call does not match the ABI"},
		"noabi":          {wasm.ErrModule, "function tenon_abi"},
		"command":        {wasm.ErrModule, "built as a command"},
		"commandabi":     {wasm.ErrTrap, "; it was built as a command"},
		"initialize":     {wasm.ErrModule, "function _initialize does not match"},
		"abi2":           {wasm.ErrModule, "version 2.0 of the ABI"},
		"import2":        {wasm.ErrModule, `"tenon_v2", which is version "2"`},
		"unknown":        {wasm.ErrModule, `function "abort" from "env", function "fd_fly" from "wasi_snapshot_preview1", function "fly" from "tenon_v1"`},
		"deadline":       {wasm.ErrModule, `function "check" from "tenon_deadline"`},
		"signature":      {wasm.ErrModule, `unknown imports: function "input" from "tenon_v1" with another type`},
		"memory":         {wasm.ErrModule, "2000 pages"},
		"initgrow":       {wasm.ErrTrap, "out of bounds memory access"},
		"abitrap":        {wasm.ErrTrap, "tenon_abi: trap: unreachable"},
		"starterror":     {nil, "start: no such option"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := started(t, r, remote.Unit{Program: module("bad/" + name + ".wasm"), Description: sdk.Description{Hooks: gates(1)}}, host{})
			for range 2 {
				_, err := ask(t.Context(), p, 0, "")
				if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("error = %v, want %v with %q", err, c.is, c.text)
				}
			}
		})
	}
}

// The deadline holds while an instance is made.
func TestDeadlineOfStart(t *testing.T) { // not beside others: it measures time
	r := newRuntime(t, wasm.Options{})
	for _, name := range []string{"startloop", "initloop"} {
		p := started(t, r, remote.Unit{Program: module("bad/" + name + ".wasm"), Description: sdk.Description{Hooks: gates(1)}}, host{})
		if err := p.(remote.Precompiler).Precompile(t.Context()); err != nil {
			t.Fatal(err)
		}
		endsAtDeadline(t, func(ctx context.Context) error {
			_, err := ask(ctx, p, 0, name)
			return err
		})
	}
}

// Opening and starting look at nothing but whether the file is there.
func TestLazy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.wasm")
	if err := os.WriteFile(path, []byte("no module"), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(dir, "cache")
	p := started(t, newRuntime(t, wasm.Options{CacheDir: cache}), remote.Unit{Program: path, Description: sdk.Description{Hooks: gates(1)}}, host{})
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("start made %v, %v", files, err)
	}
	if _, err := ask(t.Context(), p, 0, ""); !errors.Is(err, wasm.ErrModule) || !strings.Contains(err.Error(), path) {
		t.Errorf("error = %v", err)
	}
}

// Open refuses what it can know to be wrong.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	good := module("echo.wasm")
	r := newRuntime(t, wasm.Options{})
	named := func(d sdk.Description) sdk.Description { d.Name = "guest"; return d }
	for name, c := range map[string]struct {
		spec remote.Unit
		is   error
		text string
	}{
		"no file":   {remote.Unit{Program: module("none.wasm"), Description: named(sdk.Description{})}, wasm.ErrModule, "none.wasm"},
		"directory": {remote.Unit{Program: module("bad"), Description: named(sdk.Description{})}, wasm.ErrModule, "not a regular file"},
		"digest":    {remote.Unit{Program: good, Checksum: "12", Description: named(sdk.Description{})}, wasm.ErrModule, "digest"},
	} {
		if _, err := r.Open(c.spec); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error = %v, want %v with %q", name, err, c.is, c.text)
		}
	}
}

func digest(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// The approved content runs, whatever the path holds by then.
func TestDigest(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.wasm")
	put := func(from string) {
		data, err := os.ReadFile(module(from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("counter.wasm")
	approved := digest(t, path)
	spec := remote.Unit{Program: path, Checksum: approved, Description: sdk.Description{Hooks: gates(1)}}
	cache := filepath.Join(t.TempDir(), "cache")
	put("nested.wasm") // after it was approved
	p := started(t, newRuntime(t, wasm.Options{CacheDir: cache}), spec, host{})
	if _, err := ask(t.Context(), p, 0, ""); !errors.Is(err, wasm.ErrDigest) {
		t.Fatalf("error = %v, want %v", err, wasm.ErrDigest)
	}
	put("counter.wasm")
	p = started(t, newRuntime(t, wasm.Options{CacheDir: cache}), spec, host{})
	if got, err := ask(t.Context(), p, 0, ""); err != nil || got.Reason != "a" {
		t.Fatal(got, err)
	}
	put("nested.wasm") // code of the approved module is in the cache
	p = started(t, newRuntime(t, wasm.Options{CacheDir: cache}), spec, host{})
	if got, err := ask(t.Context(), p, 0, ""); err != nil || got.Reason != "a" {
		t.Errorf("another module ran: %v, %v", got, err)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, wasm.Options{})
	got, err := r.Describe(t.Context(), remote.Unit{Program: module("echo.wasm")})
	want := sdk.Description{Name: "echo", Version: "1.2.3", Hooks: []sdk.HookDescription{{Point: "tool.execute.before"}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("description (-want +got), error %v:\n%s", err, diff)
	}
	if _, err := r.Describe(t.Context(), remote.Unit{Program: module("bad/nocall.wasm")}); !errors.Is(err, wasm.ErrModule) {
		t.Errorf("error = %v", err)
	}
	if _, err := r.Describe(t.Context(), remote.Unit{Program: moduleOf(t, nil)}); !errors.Is(err, wasm.ErrModule) {
		t.Errorf("error = %v", err)
	}
}

// A module is described with the memory of its package.
func TestDescribeMemory(t *testing.T) {
	t.Parallel()
	const pages = sdk.DefaultWASMMemoryMB<<4 + 1
	code := moduleOf(t, compiler(t, strings.NewReader(fmt.Sprintf(`(module (import "tenon_v1" "output" (func $output (param i32 i32)))
		(memory (export "memory") %d) (data (i32.const 0) "{\"name\":\"big\"}") (func (export "tenon_abi") (result i32) (i32.const 0x10000))
		(func (export "tenon_call") (param i32 i32) (result i32) (call $output (i32.const 0) (i32.const 14)) (i32.const 0)))`, pages)), "wat.mjs"))
	large := sdk.Description{Runtime: &sdk.Runtime{MemoryMB: 2 * sdk.DefaultWASMMemoryMB}}
	if d, err := newRuntime(t, wasm.Options{}).Describe(t.Context(), remote.Unit{Program: code, Description: large}); err != nil || d.Name != "big" {
		t.Errorf("Describe = %+v, %v", d, err)
	}
}

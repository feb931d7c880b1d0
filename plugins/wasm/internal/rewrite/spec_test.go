package rewrite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/tenonhq/tenon/plugins/wasm/internal/rewrite"
)

// The scripts of the specification suite that wazero's module contains, with the features each is made for, and how many commands of
// them lead to a comparison at least: fewer would mean that the data is not what it was.
var suites = []struct {
	dir      string
	features api.CoreFeatures
	least    int
}{
	{"v1", api.CoreFeaturesV1, 50},
	{"v2", api.CoreFeaturesV2, 52_000},
	{"tail-call", api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall, 100},
	{"extended-const", api.CoreFeaturesV2 | experimental.CoreFeaturesExtendedConst, 100},
}

// TestSpecification runs the WebAssembly specification suite twice, with the modules as they are and rewritten. Modules that are
// refused stay refused, and every call has the same results or the same trap.
func TestSpecification(t *testing.T) {
	t.Parallel()
	root := wazeroDir(t)
	spectest, err := os.ReadFile(filepath.Join(root, "testdata", "spectest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	for _, suite := range suites {
		scripts, err := filepath.Glob(filepath.Join(root, suite.dir, "testdata", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(suite.dir, func(t *testing.T) {
			// Every script needs the same module beside its own.
			cache := wazero.NewCompilationCache()
			defer cache.Close(context.Background())
			compared := make(chan int, len(scripts))
			t.Run("scripts", func(t *testing.T) {
				for _, path := range scripts {
					t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
						t.Parallel()
						if _, err := os.Stat(filepath.Join(root, "v2", "testdata", filepath.Base(path))); err == nil && suite.dir == "v1" {
							return // v2 has its assertions, except for a few in other words and those that hold only without v2's features, which modules may use
						}
						s := &script{t: t, dir: filepath.Dir(path), plain: newWorld(t, suite.features, cache, spectest, false), changed: newWorld(t, suite.features, cache, spectest, true)}
						s.run(path)
						compared <- s.compared
					})
				}
			})
			total := 0
			for range len(compared) {
				total += <-compared
			}
			t.Logf("%d comparisons in %d scripts", total, len(scripts))
			if total < suite.least {
				t.Errorf("%d comparisons in %d scripts, want at least %d", total, len(scripts), suite.least)
			}
		})
	}
}

// wazeroDir returns the directory of the specification suite in the module cache.
func wazeroDir(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
}

// world is a runtime and the modules of one script in it.
type world struct {
	t       *testing.T
	runtime wazero.Runtime
	rewrite bool
	named   map[string]api.Module
	last    api.Module
}

func newWorld(t *testing.T, features api.CoreFeatures, cache wazero.CompilationCache, spectest []byte, rewrites bool) *world {
	t.Helper()
	ctx := t.Context()
	w := &world{t: t, rewrite: rewrites, named: map[string]api.Module{}}
	w.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(features).WithCompilationCache(cache))
	t.Cleanup(func() { w.runtime.Close(context.Background()) })
	_, err := w.runtime.NewHostModuleBuilder(rewrite.CheckModule).NewFunctionBuilder().
		WithFunc(func() int32 { return 0 }).Export(rewrite.CheckName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.instantiate(spectest, "spectest"); err != nil {
		t.Fatal(err)
	}
	return w
}

// everyGuard guards every imported function, so that the suite covers guards too.
func everyGuard(*rewrite.Import) rewrite.Guard { return rewrite.Guard{Ask: true} }

// errRewriter wraps errors of the rewriter.
var errRewriter = errors.New("rewriter")

func (w *world) instantiate(wasm []byte, name string) (api.Module, error) {
	if w.rewrite {
		m, err := rewrite.Rewrite(wasm, everyGuard)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errRewriter, err)
		}
		wasm = m.Wasm
	}
	return w.runtime.InstantiateWithConfig(w.t.Context(), wasm, wazero.NewModuleConfig().WithName(name))
}

// call returns the results of a call as text, or how it trapped.
func (w *world) call(c *action, args []uint64) string {
	m := w.last
	if c.Module != "" {
		m = w.named[c.Module]
	}
	if c.Type == "get" {
		g := m.ExportedGlobal(c.Field)
		return resultText([]api.ValueType{g.Type()}, []uint64{g.Get()})
	}
	f := m.ExportedFunction(c.Field)
	results, err := f.Call(w.t.Context(), args...)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return first
	}
	return resultText(f.Definition().ResultTypes(), results)
}

// resultText returns results as text. Which NaN an operation gives is not specified, nor what is in a reference to a function.
func resultText(types []api.ValueType, results []uint64) string {
	const v128 = 0x7b
	var out []string
	for _, t := range types {
		v := results[0]
		switch {
		case t == v128:
			out = append(out, fmt.Sprintf("%x:%x", v, results[1]))
			results = results[2:]
			continue
		case t == api.ValueTypeI32:
			v = uint64(uint32(v))
		case t == api.ValueTypeF32 && math.IsNaN(float64(math.Float32frombits(uint32(v)))), t == api.ValueTypeF64 && math.IsNaN(math.Float64frombits(v)):
			v = math.MaxUint64
		case t == api.ValueTypeF32:
			v = uint64(uint32(v))
		case t == 0x70 && v != 0: // funcref
			v = 1
		}
		out = append(out, fmt.Sprintf("%x", v))
		results = results[1:]
	}
	return strings.Join(out, " ")
}

// script runs the commands of one file, as wast2json writes them.
type script struct {
	t              *testing.T
	dir            string
	plain, changed *world
	compared       int
}

type command struct {
	Type       string
	Line       int
	Name       string
	Filename   string
	As         string
	Action     action
	ModuleType string `json:"module_type"`
}

type action struct {
	Type   string
	Field  string
	Module string
	Args   []argument
}

type argument struct {
	Type     string
	LaneType string `json:"lane_type"`
	Value    any
}

func (s *script) run(path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	var file struct{ Commands []command }
	if err := json.Unmarshal(data, &file); err != nil {
		s.t.Fatal(err)
	}
	for i := range file.Commands {
		c := &file.Commands[i]
		switch c.Type {
		case "module":
			as := ""
			if next := i + 1; next < len(file.Commands) && file.Commands[next].Type == "register" {
				as = file.Commands[next].As
			}
			s.module(c, as)
		case "register":
		case "assert_return", "assert_trap", "assert_exhaustion", "action":
			s.action(c)
		default: // the module is not to be accepted, or not to start
			if c.ModuleType != "text" {
				s.refused(c)
			}
		}
	}
}

func (s *script) read(c *command) []byte {
	data, err := os.ReadFile(filepath.Join(s.dir, c.Filename))
	if err != nil {
		s.t.Fatal(err)
	}
	return data
}

func (s *script) module(c *command, as string) {
	wasm := s.read(c)
	for _, w := range [...]*world{s.plain, s.changed} {
		m, err := w.instantiate(wasm, as)
		if err != nil {
			s.t.Fatalf("line %d: rewritten %v: %v", c.Line, w.rewrite, err)
		}
		w.last = m
		if c.Name != "" {
			w.named[c.Name] = m
		}
	}
	s.compared++
}

func (s *script) action(c *command) {
	var args []uint64
	for _, a := range c.Action.Args {
		args = a.append(args)
	}
	want, got := s.plain.call(&c.Action, args), s.changed.call(&c.Action, args)
	if want != got {
		s.t.Errorf("line %d: %s%v = %s, rewritten %s", c.Line, c.Action.Field, args, want, got)
	}
	s.compared++
}

// refused instantiates a module that is malformed, invalid, or cannot be linked or started.
func (s *script) refused(c *command) {
	wasm := s.read(c)
	_, want := s.plain.instantiate(wasm, "")
	_, got := s.changed.instantiate(wasm, "")
	if (want == nil) != (got == nil) {
		s.t.Errorf("line %d: %s: %s: error = %v, rewritten %v", c.Line, c.Type, c.Filename, want, got)
	}
	s.compared++
}

// append appends the value of an argument as wazero takes it.
func (a *argument) append(args []uint64) []uint64 {
	number := func(v any, bits int) uint64 {
		text, _ := v.(string)
		if n, err := strconv.ParseInt(text, 10, bits); err == nil && n < 0 {
			return uint64(n) & (math.MaxUint64 >> (64 - bits))
		}
		n, err := strconv.ParseUint(text, 10, bits)
		if err != nil {
			panic(err)
		}
		return n
	}
	switch a.Type {
	case "i32", "f32":
		return append(args, number(a.Value, 32))
	case "i64", "f64":
		return append(args, number(a.Value, 64))
	case "v128":
		bits, _ := strconv.Atoi(a.LaneType[1:])
		var halves [2]uint64
		for i, lane := range a.Value.([]any) {
			halves[i*bits/64] |= number(lane, bits) << (i * bits % 64)
		}
		return append(args, halves[0], halves[1])
	}
	if a.Value == "null" || a.Value == nil { // funcref, externref
		return append(args, 0)
	}
	return append(args, number(a.Value, 64)+1)
}

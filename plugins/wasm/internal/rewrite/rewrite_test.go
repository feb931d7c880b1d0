package rewrite_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/tenonhq/tenon/plugins/wasm/internal/rewrite"
)

const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

// machine runs one instance of a module and counts how often it asks whether it may go on.
type machine struct {
	t      *testing.T
	module api.Module
	asked  int
	stop   int // the question to answer with no; 0: none
}

func newMachine(t *testing.T, wasm []byte, stop int) (*machine, error) {
	t.Helper()
	return newMachineOf(t, wazero.NewCompilationCache(), wasm, stop)
}

// newMachineOf compiles the module unless the cache has it.
func newMachineOf(t *testing.T, cache wazero.CompilationCache, wasm []byte, stop int) (*machine, error) {
	t.Helper()
	m := &machine{t: t, stop: stop}
	ctx := t.Context()
	config := wazero.NewRuntimeConfig().WithCoreFeatures(features).WithMemoryLimitPages(200).WithCompilationCache(cache)
	r := wazero.NewRuntimeWithConfig(ctx, config)
	t.Cleanup(func() { r.Close(context.Background()) })
	_, err := r.NewHostModuleBuilder(rewrite.CheckModule).NewFunctionBuilder().WithFunc(func() int32 {
		m.asked++
		if m.asked == m.stop {
			return 1
		}
		return 0
	}).Export(rewrite.CheckName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m.module, err = r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	return m, err
}

// call returns the result of an exported function as text, or how it trapped.
func (m *machine) call(name string, arg uint64) string {
	results, err := m.module.ExportedFunction(name).Call(m.t.Context(), arg)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return first
	}
	return fmt.Sprint(results)
}

func modules(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, pattern := range []string{"testdata/*.wasm", "../../testdata/*.wasm", "../../testdata/*/*.wasm"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			out[f] = data
		}
	}
	return out
}

func rewritten(t testing.TB, wasm []byte) []byte {
	t.Helper()
	m, err := rewrite.Rewrite(wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.Wasm
}

// A rewritten module does what the module did, in a new instance for every call: the same results, the same traps.
func TestSameBehaviour(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.wasm")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			wasm, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			before, after := wasm, rewritten(t, wasm)
			cache := wazero.NewCompilationCache()
			t.Cleanup(func() { cache.Close(context.Background()) })
			probe, err := newMachineOf(t, cache, before, 0)
			if err != nil {
				t.Fatal(err)
			}
			for name := range probe.module.ExportedFunctionDefinitions() {
				for _, arg := range []uint64{0, 1, 3, 20, math.MaxUint32} {
					if arg == math.MaxUint32 && (name == "count" || name == "fib") {
						continue // takes for ever
					}
					a, errA := newMachineOf(t, cache, before, 0)
					b, errB := newMachineOf(t, cache, after, 0)
					if errA != nil || errB != nil {
						t.Fatal(errA, errB)
					}
					if want, got := a.call(name, arg), b.call(name, arg); got != want {
						t.Errorf("%s(%d) = %s, want %s", name, arg, got, want)
					}
				}
			}
		})
	}
}

// The module asks the host in proportion to what it does, whatever that is, and stops when the answer is no.
func TestChecks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, function string
		arg            uint64
		least          int
	}{
		"loop":       {"control", "count", 10_000_000, 100},
		"recursion":  {"control", "fib", 27, 10},
		"tail calls": {"control", "tail", 10_000_000, 100},
		"fill":       {"memory", "fillLarge", 1, 3},
		"copy":       {"memory", "copyBackward", 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wasm, err := os.ReadFile("testdata/" + c.file + ".wasm")
			if err != nil {
				t.Fatal(err)
			}
			m, err := newMachine(t, rewritten(t, wasm), 0)
			if err != nil {
				t.Fatal(err)
			}
			if m.call(c.function, c.arg); m.asked < c.least {
				t.Errorf("asked %d times, want at least %d", m.asked, c.least)
			}
			m, err = newMachine(t, rewritten(t, wasm), 2)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.call(c.function, c.arg); !strings.Contains(got, "unreachable") || m.asked != 2 {
				t.Errorf("stopped with %q after %d questions", got, m.asked)
			}
		})
	}
}

// A start function is stopped, too.
func TestStartIsChecked(t *testing.T) {
	t.Parallel()
	wasm, err := os.ReadFile("testdata/start.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newMachine(t, rewritten(t, wasm), 1); err == nil || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("error = %v", err)
	}
}

// Every guest compiles after it was rewritten; names of functions stay in traces; the stub has the same shape.
func TestGuestsCompile(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(features))
	defer r.Close(context.Background())
	for file, wasm := range modules(t) {
		m, err := rewrite.Rewrite(wasm, nil)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		stub, err := rewrite.Stub(m)
		if err != nil {
			t.Errorf("%s: stub: %v", file, err)
			continue
		}
		var exports [2][]string
		for i, w := range [][]byte{m.Wasm, stub} {
			c, err := r.CompileModule(ctx, w)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				break
			}
			for name, f := range c.ExportedFunctions() {
				exports[i] = append(exports[i], fmt.Sprint(name, f.Index(), f.ParamTypes(), f.ResultTypes(), f.DebugName()))
			}
			slices.Sort(exports[i])
		}
		if !slices.Equal(exports[0], exports[1]) {
			t.Errorf("%s: the stub exports %v, the module %v", file, exports[1], exports[0])
		}
	}
	wasm, err := os.ReadFile("testdata/control.wasm")
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMachine(t, rewritten(t, wasm), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.module.ExportedFunction("tail").Call(ctx, 3); err != nil {
		t.Fatal(err)
	}
	if got := m.module.ExportedFunction("count").Definition().Name(); got != "count" {
		t.Errorf("the name of the function is %q", got)
	}
}

// section returns a section, module a module of sections.
func section(id byte, content ...byte) string {
	return string(append([]byte{id, byte(len(content))}, content...))
}

func module(sections ...string) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, ""))
}

// function returns a module with one function () → () and its code, without the end.
func function(code ...byte) []byte {
	body := append([]byte{1, byte(len(code) + 2), 0}, append(code, 0x0b)...)
	return module(section(1, 1, 0x60, 0, 0), section(3, 1, 0), section(10, body...))
}

// What the rewriter does not know, or does not want, is an error that says where it stands.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wasm []byte
		text string
	}{
		"empty":                     {nil, "does not begin"},
		"component":                 {[]byte("\x00asm\x0d\x00\x01\x00"), "it is a component"},
		"cut section":               {module("\x01\x05"), "offset 0xa"},
		"unknown section":           {module(section(13, 0)), "no section 13"},
		"order":                     {module(section(3, 0), section(1, 0)), "section 1 is not where it belongs"},
		"twice":                     {module(section(1, 0), section(1, 0)), "section 1 is not where it belongs"},
		"rest":                      {module(section(1, 0, 0)), "1 bytes too many"},
		"many types":                {module("\x01\x05\xff\xff\xff\xff\x0f"), "4294967295 types"},
		"long number":               {module("\x01\x06\x80\x80\x80\x80\x80\x00"), "larger than 32 bits"},
		"many locals":               {module(section(1, 1, 0x60, 0, 0), section(3, 1, 0), section(10, 1, 8, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7f, 0x0b)), "4294967295 local variables"},
		"code without function":     {module(section(10, 1, 2, 0, 0x0b)), "0 functions are declared"},
		"atomic":                    {function(0xfe, 0, 2, 0), "instruction 0xfe is not supported"},
		"exception":                 {function(0x08, 0), "instruction 0x8 is not supported"},
		"call_ref":                  {function(0x14, 0), "instruction 0x14 is not supported"},
		"relaxed vector":            {function(0xfd, 0x80, 0x02), "vector instruction 0x100"},
		"vector number that hides":  {function(0xfd, 0x8c, 0x00), "longer than it needs to be"},
		"unknown misc":              {function(0xfc, 0x12), "0xfc 18"},
		"no such function":          {function(0x10, 9), "function 9 does not exist"},
		"no such type of a block":   {function(0x02, 5, 0x0b), "there is no type 5"},
		"else without if":           {function(0x05), "else without if"},
		"code goes on":              {function(0x0b, 0x01), "too many in a function"},
		"code ends early":           {module(section(1, 1, 0x60, 0, 0), section(3, 1, 0), section(10, 1, 2, 0, 0x01)), "unexpected end"},
		"shared memory":             {module(section(5, 1, 3, 1, 1)), "limits of kind 0x3"},
		"two memories":              {module(section(5, 2, 0, 1, 0, 1)), "2 memories"},
		"large table":               {module(section(4, 1, 0x70, 0, 0x80, 0x80, 0x80, 0x01)), "a table of 2097152 elements"},
		"export of no function":     {module(section(7, 1, 1, 'a', 0, 3)), "function 3 does not exist"},
		"start of no function":      {module(section(8, 3)), "function 3 does not exist"},
		"element of no function":    {module(section(4, 1, 0x70, 0, 1), section(9, 1, 0, 0x41, 0, 0x0b, 1, 9)), "function 9 does not exist"},
		"call in a constant":        {module(section(6, 1, 0x7f, 0, 0x10, 0, 0x0b)), "instruction 0x10 in a constant"},
		"blocks stay open":          {function(slices.Repeat([]byte{0x03, 0x40}, 60)...), "unexpected end"},
		"branch to many":            {function(0x41, 0, 0x0e, 0xff, 0xff, 0x7f), "targets"},
		"import of an unknown kind": {module(section(2, 1, 0, 0, 4)), "kind 4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rewrite.Rewrite(c.wasm, nil)
			if !errors.Is(err, rewrite.ErrMalformed) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error = %v, want one with %q", err, c.text)
			}
		})
	}
}

// A function that takes the compiler for ever is refused at once.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	appendLen := func(b []byte, n int) []byte {
		for n >= 0x80 {
			b, n = append(b, byte(n)|0x80), n>>7
		}
		return append(b, byte(n))
	}
	build := func(locals int, code []byte) []byte {
		body := append(appendLen([]byte{1}, locals), 0x7f)
		body = append(append(body, code...), 0x0b)
		code = append(appendLen([]byte{1}, len(body)), body...)
		out := module(section(1, 1, 0x60, 0, 0), section(3, 1, 0))
		return append(appendLen(append(out, 10), len(code)), code...)
	}
	loops := func(n int) []byte { return slices.Repeat([]byte{0x03, 0x40, 0x0b}, n) }
	for name, c := range map[string]struct {
		wasm []byte
		text string
	}{
		"many loops":           {build(1, loops(12_000)), "takes too long"},
		"variables times loop": {build(5000, loops(2000)), "takes too long"},
		"many blocks":          {build(1, slices.Repeat([]byte{0x02, 0x40, 0x0b}, 60_000)), "takes too long"},
		"deep loops":           {build(1, append(slices.Repeat([]byte{0x03, 0x40}, 300), slices.Repeat([]byte{0x0b}, 300)...)), "nested more than"},
		"variables":            {build(20_000, nil), "20000 local variables"},
	} {
		if _, err := rewrite.Rewrite(c.wasm, nil); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error = %v, want %q", name, err, c.text)
		}
	}
	if _, err := rewrite.Rewrite(build(100, loops(500)), nil); err != nil {
		t.Errorf("an ordinary function: %v", err)
	}
}

// Whatever it is given, the rewriter returns, and what it accepts a compiler accepts if it accepted the module as it was.
func FuzzRewrite(f *testing.F) {
	for _, wasm := range modules(f) {
		f.Add(wasm)
	}
	f.Add(function(0xfc, 0x0a, 0, 0))
	f.Add(module(section(1, 1, 0x60, 0, 0)))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := rewrite.Rewrite(wasm, nil)
		if err != nil {
			if !errors.Is(err, rewrite.ErrMalformed) {
				t.Errorf("error = %v", err)
			}
			return
		}
		ctx := t.Context()
		r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features).WithMemoryLimitPages(16))
		defer r.Close(ctx)
		if _, err := r.CompileModule(ctx, wasm); err != nil {
			return
		}
		if _, err := r.CompileModule(ctx, m.Wasm); err != nil {
			t.Errorf("the module compiles, rewritten it does not: %v", err)
		}
		stub, err := rewrite.Stub(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.CompileModule(ctx, stub); err != nil {
			t.Errorf("the stub does not compile: %v", err)
		}
	})
}

package rewrite_test

import (
	"bytes"
	"context"
	"encoding/binary"
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
					if arg == math.MaxUint32 && (name == "fib" || name == "reference") || name == "count" && (arg == 0 || arg == math.MaxUint32) {
						continue // takes for ever: count ends when it is back at 0
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

// A function has a short name in traces, which repeat it for each frame, whatever name the module gives it.
func TestLongNames(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("é", 1<<19)
	names := "\x01" + string(binary.AppendUvarint(nil, uint64(len(name)+5)))
	names += "\x01\x00" + string(binary.AppendUvarint(nil, uint64(len(name)))) + name
	custom := "\x04name" + names
	wasm := string(function()) + "\x00" + string(binary.AppendUvarint(nil, uint64(len(custom)))) + custom
	m := rewritten(t, []byte(wasm))
	if !bytes.Contains(m, []byte("ééé")) || !bytes.Contains(m, []byte("é…")) || len(m) > 2000 {
		t.Errorf("the module has %d bytes, want a part of the name", len(m))
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

// Code that the rewriter does not know, or refuses, is an error with its position.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wasm []byte
		text string
	}{
		"empty":                     {nil, "does not begin"},
		"component":                 {[]byte("\x00asm\x0d\x00\x01\x00"), "it is a component"},
		"pointer":                   {[]byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"), "it is a pointer of Git LFS"},
		"cut section":               {module("\x01\x05"), "offset 0xa"},
		"unknown section":           {module(section(13, 0)), "unknown section 13"},
		"order":                     {module(section(3, 0), section(1, 0)), "section 1 is out of order"},
		"twice":                     {module(section(1, 0), section(1, 0)), "section 1 is out of order"},
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
		"no such type of a block":   {function(0x02, 5, 0x0b), "unknown type 5"},
		"else without if":           {function(0x05), "else without if"},
		"code goes on":              {function(0x0b, 0x01), "too many in a function"},
		"code ends early":           {module(section(1, 1, 0x60, 0, 0), section(3, 1, 0), section(10, 1, 2, 0, 0x01)), "unexpected end"},
		"shared memory":             {module(section(5, 1, 3, 1, 1)), "limits of kind 0x3"},
		"two memories":              {module(section(5, 2, 0, 1, 0, 1)), "2 memories"},
		"large table":               {module(section(4, 1, 0x70, 0, 0x80, 0x80, 0x80, 0x01)), "a table of 2097152 elements"},
		"export of no function":     {module(section(7, 1, 1, 'a', 0, 3)), "function 3 does not exist"},
		"start of no function":      {module(section(8, 3)), "function 3 does not exist"},
		"element of no function":    {module(section(4, 1, 0x70, 0, 1), section(9, 1, 0, 0x41, 0, 0x0b, 1, 9)), "function 9 does not exist"},
		"global.set of the counter": {function(0x41, 0, 0x24, 0), "global 0 does not exist"},
		"global.get of the counter": {function(0x23, 0, 0x1a), "global 0 does not exist"},
		"counter in a constant":     {module(section(6, 1, 0x7f, 0, 0x23, 1, 0x0b)), "global 1 does not exist"},
		"export of the counter":     {module(section(7, 1, 1, 'a', 3, 0)), "global 0 does not exist"},
		"element with the counter":  {module(section(4, 1, 0x70, 0, 1), section(9, 1, 0, 0x23, 0, 0x0b, 0)), "global 0 does not exist"},
		"data at the counter":       {module(section(5, 1, 0, 1), section(11, 1, 0, 0x23, 0, 0x0b, 0)), "global 0 does not exist"},
		"type of an addition":       {module(section(1, 1, 0x60, 0, 0), section(3, 1, 1)), "type 1 does not exist"},
		"import with such a type":   {module(section(2, 1, 0, 0, 0, 0)), "type 0 does not exist"},
		"call_indirect with one":    {function(0x41, 0, 0x11, 2, 0), "type 2 does not exist"},
		"tail call with one":        {function(0x41, 0, 0x13, 1, 0), "type 1 does not exist"},
		"call of a helper":          {function(0x10, 1), "function 1 does not exist"},
		"reference to a helper":     {function(0xd2, 1, 0x1a), "function 1 does not exist"},
		"data that was not counted": {module(section(12, 1)), "0 data segments, 1 were declared"},
		"name that is not UTF-8":    {module(section(0, 1, 0xff)), "not UTF-8"},
		"call in a constant":        {module(section(6, 1, 0x7f, 0, 0x10, 0, 0x0b)), "instruction 0x10 in a constant"},
		"blocks stay open":          {function(slices.Repeat([]byte{0x03, 0x40}, 60)...), "unexpected end"},
		"select of two types":       {function(0x41, 0, 0x41, 0, 0x41, 0, 0x1c, 2, 0x7f, 0x7f, 0x1a), "select with 2 types"},
		"unknown value type":        {module(section(1, 1, 0x60, 1, 0x01, 0)), "invalid value type 0x1"},
		"type of no function":       {module(section(1, 1, 0x5f, 0, 0)), "invalid function type 0x5f"},
		"table of numbers":          {module(section(4, 1, 0x7f, 0, 1)), "invalid reference type 0x7f"},
		"mutability":                {module(section(6, 1, 0x7f, 2, 0x41, 0, 0x0b)), "neither constant nor mutable"},
		"export of an unknown kind": {module(section(5, 1, 0, 1), section(7, 1, 1, 'a', 4, 0)), "an export of kind 4"},
		"kind of elements":          {module(section(9, 1, 8, 0)), "an element segment of kind 8"},
		"data of another memory":    {module(section(5, 1, 0, 1), section(11, 1, 2, 1, 0x41, 0, 0x0b, 0)), "memory 1, there is only one"},
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

// A guard asks the host before the imported function is called, directly or through a table, and limits its arguments. Without a guard
// the function is called as it was.
func TestGuards(t *testing.T) {
	t.Parallel()
	// f calls import 0 with its argument, and what it returns through the table.
	wasm := module(
		section(1, 1, 0x60, 1, 0x7f, 1, 0x7f), section(2, 1, 1, 'h', 1, 'f', 0, 0), section(3, 1, 0), section(4, 1, 0x70, 0, 1),
		section(7, 1, 1, 'f', 0, 1), section(9, 1, 0, 0x41, 0, 0x0b, 1, 0),
		section(10, 1, 11, 0, 0x20, 0, 0x10, 0, 0x41, 0, 0x11, 0, 0, 0x0b))
	limit := []rewrite.Limit{{Param: 0, Max: 1 << 31, Result: -5}}
	for name, c := range map[string]struct {
		guard      rewrite.Guard
		arg        uint64
		want       string
		asked, ran int
	}{
		"none":     {rewrite.Guard{}, 1, "[3]", 0, 2},
		"asks":     {rewrite.Guard{Ask: true}, 1, "[3]", 2, 2},
		"at limit": {rewrite.Guard{Limits: limit}, 1<<31 - 1, "[2147483649]", 0, 2},
		// The first call is not made, and its result is beyond the limit as well.
		"above limit": {rewrite.Guard{Ask: true, Limits: limit}, 1<<31 + 1, "[4294967291]", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed, err := rewrite.Rewrite(wasm, func(i *rewrite.Import) rewrite.Guard {
				if i.Module != "h" || i.Name != "f" || string(i.Params) != "\x7f" || string(i.Results) != "\x7f" {
					t.Errorf("import %+v", i)
				}
				return c.guard
			})
			if err != nil {
				t.Fatal(err)
			}
			asked, ran := 0, 0
			ctx := t.Context()
			r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(features))
			defer r.Close(context.Background())
			check := r.NewHostModuleBuilder(rewrite.CheckModule).NewFunctionBuilder().WithFunc(func() int32 { asked++; return 0 }).Export(rewrite.CheckName)
			next := r.NewHostModuleBuilder("h").NewFunctionBuilder().WithFunc(func(n int32) int32 { ran++; return n + 1 }).Export("f")
			for _, b := range []wazero.HostModuleBuilder{check, next} {
				if _, err := b.Instantiate(ctx); err != nil {
					t.Fatal(err)
				}
			}
			m, err := r.Instantiate(ctx, changed.Wasm)
			if err != nil {
				t.Fatal(err)
			}
			results, err := m.ExportedFunction("f").Call(ctx, c.arg)
			if got := fmt.Sprint(results); err != nil || got != c.want || asked != c.asked || ran != c.ran {
				t.Errorf("f(%d) = %s, %v, asked %d times, ran %d times; want %s, %d, %d", c.arg, got, err, asked, ran, c.want, c.asked, c.ran)
			}
		})
	}
	_, err := rewrite.Rewrite(wasm, func(*rewrite.Import) rewrite.Guard { return rewrite.Guard{Limits: []rewrite.Limit{{Param: 1}}} })
	if !errors.Is(err, rewrite.ErrMalformed) {
		t.Errorf("a limit of a parameter that does not exist: %v", err)
	}
}

// Data segments are joined in the order of their offsets, unless two of them overlap.
func TestJoin(t *testing.T) {
	t.Parallel()
	at := func(offset byte) string { return string([]byte{0, 0x41, offset, 0x0b, 1, 'x'}) }
	for name, c := range map[string]struct {
		offsets string
		want    string // the number of segments, and the content after the first offset
	}{
		"rising":          {"\x01\x05\x09", "\x01\x00\x41\x01\x0b\x09x\x00\x00\x00x\x00\x00\x00x"},
		"falling":         {"\x09\x05\x01", "\x01\x00\x41\x01\x0b\x09x\x00\x00\x00x\x00\x00\x00x"},
		"back in between": {"\x05\x01\x09\x03", "\x01\x00\x41\x01\x0b\x09x\x00x\x00x\x00\x00\x00x"},
		"overlapping":     {"\x05\x05\x06", "\x03" + at(5) + at(5) + at(6)},
	} {
		var segments string
		for _, offset := range []byte(c.offsets) {
			segments += at(offset)
		}
		wasm := module(section(5, 1, 0, 1), section(11, append([]byte{byte(len(c.offsets))}, segments...)...))
		if out := string(rewritten(t, wasm)); !strings.HasSuffix(out, c.want) {
			t.Errorf("%s: the module ends in %q, want %q", name, out[max(0, len(out)-len(c.want)):], c.want)
		}
	}
	// Zeros between segments would overwrite what an imported memory holds.
	wasm := module(section(2, 1, 1, 'h', 1, 'm', 2, 0, 1), section(11, append([]byte{2}, at(1)+at(5)...)...))
	if !strings.HasSuffix(string(rewritten(t, wasm)), "\x02"+at(1)+at(5)) {
		t.Error("segments of an imported memory were joined")
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

// sameValidity compiles a module and its rewritten form, of which either both compile or neither. It reports which. Custom sections do
// not count: the rewriter leaves them out, and wazero refuses some that are valid.
func sameValidity(t *testing.T, r wazero.Runtime, wasm, changed []byte) bool {
	t.Helper()
	_, want := r.CompileModule(t.Context(), wasm)
	_, got := r.CompileModule(t.Context(), changed)
	if want != nil && strings.Contains(want.Error(), "section custom") {
		return false
	}
	if (want == nil) != (got == nil) {
		t.Errorf("compiling it: %v, rewritten: %v, in the module %x", want, got, wasm)
	}
	return want == nil
}

// The rewriter returns for any input. If it accepts a module, a compiler accepts the rewritten module exactly if it accepts the original.
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
		r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features).WithMemoryLimitPages(16).WithDebugInfoEnabled(false))
		defer r.Close(ctx)
		if !sameValidity(t, r, wasm, m.Wasm) {
			return
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

package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/tenonhq/tenon/plugins/wasm/internal/rewrite"
)

// generated is how many generated modules TestGenerated runs.
const generated = 100

// randomBytes returns what a module is generated from.
func randomBytes(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]byte, 200+r.IntN(1500))
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// TestGenerated runs generated modules as they are and rewritten.
func TestGenerated(t *testing.T) {
	t.Parallel()
	ended := map[string]int{}
	for seed := range uint64(generated) {
		same(t, generate(randomBytes(seed)), ended)
	}
	if t.Failed() {
		return
	}
	// The modules must do something: of ten calls, at least three return.
	if all := ended["returned"] + ended["trapped"]; all < 10*generated || ended["returned"]*10 < all*3 {
		t.Errorf("%v of %d modules", ended, generated)
	}
}

// TestInvalidStaysInvalid damages generated modules: the rewriter makes none of them valid, nor a valid one invalid.
func TestInvalidStaysInvalid(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	defer r.Close(context.Background())
	valid, invalid := 0, 0
	for seed := range uint64(generated) {
		wasm := generate(randomBytes(seed))
		random := rand.New(rand.NewPCG(seed, 2))
		for range 40 {
			damaged := bytes.Clone(wasm)
			damaged[8+random.IntN(len(wasm)-8)] += byte(1 + random.IntN(4))
			m, err := rewrite.Rewrite(damaged, everyGuard)
			switch {
			case err != nil:
				if !errors.Is(err, rewrite.ErrMalformed) {
					t.Error(err)
				}
			case sameValidity(t, r, damaged, m.Wasm):
				valid++
			default:
				invalid++
			}
		}
	}
	if valid < generated || invalid < generated {
		t.Errorf("%d valid and %d invalid modules were compared, want at least %d", valid, invalid, generated)
	}
}

// FuzzGenerated compares the module that is generated from any bytes with its rewritten form.
func FuzzGenerated(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(randomBytes(seed))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		if len(source) < 4000 {
			same(t, generate(source), map[string]int{})
		}
	})
}

// run instantiates a module, calls its functions one after the other, and returns a line for each thing that can be seen.
func run(t *testing.T, wasm []byte, ended map[string]int) (lines []string) {
	t.Helper()
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(features))
	defer r.Close(context.Background())
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	b := r.NewHostModuleBuilder("host")
	for i, h := range hostTypes {
		b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) {
			say("host %d %s", i, resultText(h.params, stack))
			for n := range h.results {
				stack[n] = uint64(len(lines))
			}
		}), h.params, h.results).Export(fmt.Sprint(i))
	}
	check := r.NewHostModuleBuilder(rewrite.CheckModule).NewFunctionBuilder().WithFunc(func() int32 { return 0 }).Export(rewrite.CheckName)
	for _, b := range []wazero.HostModuleBuilder{b, check} {
		if _, err := b.Instantiate(ctx); err != nil {
			t.Fatal(err)
		}
	}
	m, err := r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, 8)
	for name := range m.ExportedFunctionDefinitions() {
		names = append(names, name)
	}
	slices.Sort(names)
	for round := range uint64(4) {
		for _, name := range names {
			f := m.ExportedFunction(name)
			args := make([]uint64, len(f.Definition().ParamTypes()))
			for i := range args {
				args[i] = round * uint64(i+1)
			}
			m.ExportedGlobal("g0").(api.MutableGlobal).Set(supply)
			results, err := f.Call(ctx, args...)
			if err != nil {
				first, _, _ := strings.Cut(err.Error(), "\n")
				say("%s%v: %s", name, args, first)
				ended["trapped"]++
				continue
			}
			ended["returned"]++
			say("%s%v = %s", name, args, resultText(f.Definition().ResultTypes(), results))
		}
		for i := range 6 {
			if g := m.ExportedGlobal(fmt.Sprint("g", i)); g != nil {
				say("global %d = %s", i, resultText([]api.ValueType{g.Type()}, []uint64{g.Get()}))
			}
		}
	}
	memory, _ := m.Memory().Read(0, m.Memory().Size())
	say("memory %d %x", len(memory), bytes.TrimRight(memory, "\x00"))
	return lines
}

// same compares a module with its rewritten form.
func same(t *testing.T, wasm []byte, ended map[string]int) {
	t.Helper()
	want := run(t, wasm, ended)
	for _, guard := range []func(*rewrite.Import) rewrite.Guard{nil, everyGuard} {
		m, err := rewrite.Rewrite(wasm, guard)
		if err != nil {
			t.Fatalf("%v in the module %x", err, wasm)
		}
		got := run(t, m.Wasm, map[string]int{})
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Fatalf("line %d: rewritten %.300q, want %.300q in the module %x", i, got[min(i, len(got)-1)], want[i], wasm)
			}
		}
	}
}

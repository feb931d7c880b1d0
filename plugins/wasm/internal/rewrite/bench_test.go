package rewrite_test

import (
	"context"
	"os"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/tenonhq/tenon/plugins/wasm/internal/rewrite"
)

// BenchmarkOverhead compares a module as it was with the rewritten one: a loop of a few instructions, calls and nothing else, and
// filling memory.
func BenchmarkOverhead(b *testing.B) {
	for _, c := range []struct {
		file, function string
		arg            uint64
	}{{"control", "count", 1_000_000}, {"control", "fib", 24}, {"memory", "fillLarge", 1}, {"memory", "fillSmall", 1}} {
		wasm, err := os.ReadFile("testdata/" + c.file + ".wasm")
		if err != nil {
			b.Fatal(err)
		}
		for name, wasm := range map[string][]byte{"before": wasm, "after": rewritten(b, wasm)} {
			b.Run(c.function+"/"+name, func(b *testing.B) {
				ctx := context.Background()
				r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(features))
				defer r.Close(ctx)
				_, err := r.NewHostModuleBuilder(rewrite.CheckModule).NewFunctionBuilder().
					WithFunc(func(context.Context) int32 { return 0 }).Export(rewrite.CheckName).Instantiate(ctx)
				if err != nil {
					b.Fatal(err)
				}
				m, err := r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig())
				if err != nil {
					b.Fatal(err)
				}
				f := m.ExportedFunction(c.function)
				for b.Loop() {
					if _, err := f.Call(ctx, c.arg); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkRewrite rewrites the largest of the guests that are there.
func BenchmarkRewrite(b *testing.B) {
	var largest []byte
	for _, wasm := range modules(b) {
		if len(wasm) > len(largest) {
			largest = wasm
		}
	}
	b.SetBytes(int64(len(largest)))
	for b.Loop() {
		if _, err := rewrite.Rewrite(largest, everyGuard); err != nil {
			b.Fatal(err)
		}
	}
}

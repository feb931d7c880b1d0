package wasm

import (
	"bytes"
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// The table of WASI is what wazero provides: every function, with its type.
func TestSignaturesOfWASI(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(context.Background())
	m, err := wasi_snapshot_preview1.NewBuilder(r).Compile(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ours := wasiFunctions()
	for name, f := range m.ExportedFunctions() {
		if o := ours[name]; !bytes.Equal(o.params, f.ParamTypes()) || !bytes.Equal(o.results, f.ResultTypes()) {
			t.Errorf("%s has types %x and %x, in wazero %x and %x", name, o.params, o.results, f.ParamTypes(), f.ResultTypes())
		}
		delete(ours, name)
	}
	if len(ours) > 0 {
		t.Errorf("wazero does not have %v", ours)
	}
}

package wasm

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/wasm/internal/rewrite"
)

// The exports of a guest.
const (
	exportMemory     = "memory"
	exportABI        = "tenon_abi"
	exportCall       = "tenon_call"
	exportInitialize = "_initialize"
	exportStart      = "_start"
)

const wasiModule = wasi_snapshot_preview1.ModuleName

// code is a compiled module in its own wazero runtime, so that modules do not affect each other in the compiler.
type code struct {
	runtime  wazero.Runtime
	cache    wazero.CompilationCache // nil without a file behind it
	compiled wazero.CompiledModule
	shared   *image // memory pages shared by idle instances
}

// features are the features that modules may use. The rewriter supports only these.
const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

// rewritten adds checks of the deadline to a module.
func rewritten(wasm []byte) (*rewrite.Module, error) {
	wasi := wasiFunctions()
	// Our functions check the deadline themselves, wazero's WASI functions do not. Imports of the wrong type are refused below.
	guard := func(i *rewrite.Import) rewrite.Guard {
		f, ok := wasi[i.Name]
		if !ok || i.Module != wasiModule || !f.is(i) {
			return rewrite.Guard{}
		}
		return rewrite.Guard{Ask: true, Limits: f.limits}
	}
	m, err := rewrite.Rewrite(wasm, guard)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModule, err)
	}
	if err := checkImports(m.Imports, map[string]map[string]hostFunction{wasiModule: wasi, hostModule: imports()}); err != nil {
		return nil, err
	}
	return m, nil
}

// is reports whether an import has the type of the function.
func (f *hostFunction) is(i *rewrite.Import) bool {
	return slices.Equal(i.Params, f.params) && slices.Equal(i.Results, f.results)
}

// maxListed limits the imports that an error lists: a module may have millions of them.
const maxListed = 10

// checkImports returns an error that lists the imports that do not exist or have another type. known are the functions by module and name.
func checkImports(list []rewrite.Import, known map[string]map[string]hostFunction) error {
	var unknown []string
	more := 0
	for _, i := range list {
		from := visible.Cut(i.Module, 200, "…")
		if version, ours := strings.CutPrefix(i.Module, hostPrefix); ours && i.Module != hostModule {
			return fmt.Errorf("%w: it imports from %q, which is version %q of the ABI; this host speaks version %d", ErrModule, from, visible.Cut(version, 200, "…"), abiMajor)
		}
		f, ok := known[i.Module][i.Name]
		text := fmt.Sprintf("%s %q from %q", i.Kind, visible.Cut(i.Name, 200, "…"), from)
		switch {
		case ok && i.Kind == rewrite.KindFunction && f.is(&i):
		case len(unknown) == maxListed:
			more++
		case ok && i.Kind == rewrite.KindFunction:
			unknown = append(unknown, text+" with another type than the ABI's")
		default:
			unknown = append(unknown, text)
		}
	}
	slices.Sort(unknown)
	if more > 0 {
		unknown = append(unknown, fmt.Sprintf("and %d more", more))
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%w: unknown imports: %s", ErrModule, strings.Join(unknown, ", "))
	}
	return nil
}

// newCode compiles a rewritten module. cache may be nil.
func newCode(ctx context.Context, wasm []byte, pages uint32, cache wazero.CompilationCache) (*code, error) {
	config := wazero.NewRuntimeConfig().WithCoreFeatures(features).WithMemoryLimitPages(pages).WithDebugInfoEnabled(false)
	if cache != nil {
		config = config.WithCompilationCache(cache)
	}
	c := &code{runtime: wazero.NewRuntimeWithConfig(ctx, config), cache: cache, shared: &image{}}
	if err := c.compile(ctx, wasm); err != nil {
		_ = c.runtime.Close(ctx) // the first error is returned
		return nil, err
	}
	return c, nil
}

func (c *code) compile(ctx context.Context, wasm []byte) error {
	var err error
	if c.compiled, err = c.runtime.CompileModule(ctx, wasm); err != nil {
		return fmt.Errorf("%w: %w", ErrModule, err)
	}
	if err := checkExports(c.compiled); err != nil {
		return err
	}
	if err := provide(ctx, c.runtime); err != nil {
		return err
	}
	for _, f := range c.compiled.ImportedFunctions() {
		if module, _, _ := f.Import(); module == wasiModule {
			_, err := wasi_snapshot_preview1.Instantiate(ctx, c.runtime)
			return err
		}
	}
	return nil
}

// commandHint is the remedy for a module that runs main and ends.
const commandHint = "; it was built as a command: build it as a library (-buildmode=c-shared, -mexec-model=reactor)"

// checkExports checks the exports that the ABI requires.
func checkExports(m wazero.CompiledModule) error {
	if m.ExportedMemories()[exportMemory] == nil {
		return fmt.Errorf("%w: it exports no memory with the name %q", ErrModule, exportMemory)
	}
	functions := m.ExportedFunctions()
	i32 := api.ValueTypeI32
	for _, want := range [...]struct {
		name            string
		optional        bool
		params, results []api.ValueType
	}{
		{exportABI, false, nil, []api.ValueType{i32}},
		{exportCall, false, []api.ValueType{i32, i32}, []api.ValueType{i32}},
		{exportInitialize, true, nil, nil},
	} {
		f := functions[want.name]
		switch {
		case f == nil && want.optional:
		case f == nil:
			hint := ""
			if functions[exportStart] != nil {
				hint = commandHint
			}
			return fmt.Errorf("%w: it does not export the function %s%s", ErrModule, want.name, hint)
		case !slices.Equal(f.ParamTypes(), want.params) || !slices.Equal(f.ResultTypes(), want.results):
			return fmt.Errorf("%w: the signature of the function %s does not match the ABI", ErrModule, want.name)
		}
	}
	return nil
}

// close releases the code and every instance of it.
func (c *code) close(ctx context.Context, log *slog.Logger) {
	if err := c.runtime.Close(ctx); err != nil {
		log.Debug("close a wasm runtime", "err", err)
	}
	if c.cache != nil {
		if err := c.cache.Close(ctx); err != nil {
			log.Debug("close compiled code", "err", err)
		}
	}
	c.shared.close()
}

package wasm_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/plugins/plugintest"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if scratch.dir != "" {
		_ = os.RemoveAll(scratch.dir)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// scratch is where the guests written in Go are built to, once per test process, and where they are cached.
var scratch struct {
	once sync.Once
	dir  string
	err  error
}

func scratchDir(t testing.TB) string {
	t.Helper()
	scratch.once.Do(func() { scratch.dir, scratch.err = os.MkdirTemp("", "tenon-wasm-test-*") })
	if scratch.err != nil {
		t.Fatal(scratch.err)
	}
	return scratch.dir
}

// guestCache is the cache with the code of the guests written in Go.
func guestCache(t testing.TB) string {
	return plugintest.CompiledModules(filepath.Join(scratchDir(t), "cache"))
}

// builds holds a function per guest in Go that builds it once.
var builds sync.Map

// goGuest returns the path of a guest written in Go. With -short the test is skipped: the module is large, and the race detector makes the
// compiler twenty times slower.
func goGuest(t testing.TB, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a guest written in Go takes minutes to compile under the race detector; runs without -short")
	}
	out := filepath.Join(scratchDir(t), name+".wasm")
	build, _ := builds.LoadOrStore(name, sync.OnceValue(func() error {
		cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", out, "./testdata/go/"+name)
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("%s", text)
			return err
		}
		// Tests that run at the same time would each compile it.
		r := wasm.New(wasm.Options{CacheDir: guestCache(t), CompileTimeout: 10 * time.Minute})
		p, err := r.Open(remote.Unit{Description: sdk.Description{Name: name}, Program: out})
		if err != nil {
			return err
		}
		return errors.Join(p.(remote.Precompiler).Precompile(t.Context()), p.Close(context.WithoutCancel(t.Context())))
	}))
	if err := build.(func() error)(); err != nil {
		t.Fatalf("build guest %s: %v", name, err)
	}
	return out
}

// newRuntime returns a runtime.
func newRuntime(t testing.TB, o wasm.Options) *wasm.Runtime {
	t.Helper()
	if o.CompileTimeout == 0 {
		o.CompileTimeout = 10 * time.Minute // the race detector makes compiling slow
	}
	r := wasm.New(o)
	return r
}

// host is what plugins are started with.
type host struct {
	log     *slog.Logger
	options json.RawMessage
	project sdk.Project
}

func (h host) Logger() *slog.Logger {
	if h.log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return h.log
}
func (h host) Project() sdk.Project     { return h.project }
func (h host) Options() json.RawMessage { return h.options }

// started opens and starts a plugin, which is closed with the test.
func started(t testing.TB, r *wasm.Runtime, s remote.Unit, h host) sdk.Plugin {
	t.Helper()
	if s.Description.Name == "" {
		s.Description.Name = "guest"
	}
	p, err := r.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("close the plugin: %v", err)
		}
	})
	if err := p.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	return p
}

// gates returns n hooks at permission.ask.
func gates(n int) []sdk.HookDescription {
	out := make([]sdk.HookDescription, n)
	for i := range out {
		out[i] = sdk.HookDescription{Point: string(sdk.PointPermissionAsk), TimeoutMS: 60_000}
	}
	return out
}

// ask calls hook n of a plugin on behalf of a session.
func ask(ctx context.Context, p sdk.Plugin, n int, session string) (sdk.Answer, error) {
	h := p.(sdk.Hooker).Hooks()[n]
	input := json.RawMessage(`{}`)
	if session != "" {
		input = json.RawMessage(`{"id":"per_1","sessionID":` + string(quoted(session)) + `}`)
	}
	return h.Remote.HandleRemote(ctx, &sdk.RemoteCall{Point: h.Point, Hook: h.Name, Input: input})
}

func quoted(s string) []byte {
	b, _ := json.Marshal(s)
	return b
}

func module(name string) string { return filepath.Join("testdata", name) }

// moduleOf writes a module to a file.
func moduleOf(t testing.TB, wasm []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "module.wasm")
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

package conformance_test

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/plugins/plugintest"
	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/scaffold/scaffoldtest"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

// workshop holds what all tests share: the built guests and the WASM runtime. TestMain creates and removes it.
type workshop struct {
	dir   string
	mu    sync.Mutex
	built map[string]func() (string, error) // by package
	sums  map[string]string                 // of modules, by path

	turn struct {
		sync.Once
		turn
	}
	runtime *wasm.Runtime
	python  func() (string, error) // the path of the interpreter
}

var shop = &workshop{built: map[string]func() (string, error){}, sums: map[string]string{}} // made once, before any test runs

func (w *workshop) open() error {
	dir, err := os.MkdirTemp("", "tenon-conformance-")
	if err != nil {
		return err
	}
	w.dir = dir
	w.runtime = wasm.New(wasm.Options{CacheDir: plugintest.CompiledModules(filepath.Join(dir, "cache")), CompileTimeout: 10 * time.Minute})
	w.python = sync.OnceValues(func() (string, error) {
		// Not the shim of a version manager: it takes longer to start than the plugin.
		path, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
		return strings.TrimSpace(string(path)), err
	})
	return nil
}

func (w *workshop) close() error {
	return os.RemoveAll(w.dir)
}

// once returns the path of the guest with the name, which make makes at the first call.
func (w *workshop) once(t testing.TB, name string, make func() (string, error)) string {
	t.Helper()
	w.mu.Lock()
	once := w.built[name]
	if once == nil {
		once = sync.OnceValues(make)
		w.built[name] = once
	}
	w.mu.Unlock()
	path, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// build runs a compiler.
func build(env, command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	return nil
}

// rust compiles the guest in Rust, and returns the path of the file. It is kept where compiled modules are: compiling takes seconds.
func (w *workshop) rust(t testing.TB, name string, compiler func() string, flags ...string) string {
	t.Helper()
	return w.once(t, name, func() (string, error) {
		rustc := compiler()
		version, err := exec.Command(rustc, "-vV").Output()
		if err != nil {
			return "", err
		}
		h := sha256.New()
		fmt.Fprintf(h, "%s %q", version, flags)
		for _, file := range []string{"rust/main.rs", "../../sdk/rust/tenon.rs"} {
			data, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, " %x", sha256.Sum256(data))
		}
		kept := filepath.Join(plugintest.CompiledModules(w.dir), fmt.Sprintf("%s-%x.native", name, h.Sum(nil)))
		now := time.Now()
		if os.Chtimes(kept, now, now) == nil { // of its last use, for .ci/run
			return kept, nil
		}
		out := kept + ".new"
		if err := build(nil, append([]string{rustc, "--edition", "2021", "-o", out, "rust/main.rs"}, flags...)); err != nil {
			return "", err
		}
		return kept, os.Rename(out, kept)
	})
}

// healthy returns a turn without a plugin that goes wrong, always the same.
func (w *workshop) healthy(t *testing.T) turn {
	t.Helper()
	w.turn.Do(func() { w.turn.turn = healthyTurn(t) })
	if w.turn.answer == "" {
		t.Fatal("the turn without the plugin failed in another test")
	}
	return w.turn.turn
}

// checksum returns the SHA-256 of a built module.
func (w *workshop) checksum(t *testing.T, path string) string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sums[path] == "" {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w.sums[path] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return w.sums[path]
}

func wasmCarrier() Carrier {
	return Carrier{
		Name: "wasm", Isolated: true, Grants: true, Hang: conformance.FaultLoop,
		Open: func(t *testing.T, c Case) sdk.Plugin {
			return openWASM(t, c, shop.once(t, "wasm", func() (string, error) {
				out := filepath.Join(shop.dir, "plugin.wasm")
				files, _ := filepath.Glob("plugin*_test.go") // the pattern is valid
				return out, build([]string{"GOOS=wasip1", "GOARCH=wasm"}, append([]string{"go", "test", "-c", "-o", out, "-buildmode=c-shared"}, files...))
			}))
		},
	}
}

// openWASM opens the plugin of a case as a WASM module.
func openWASM(t *testing.T, c Case, path string) sdk.Plugin {
	t.Helper()
	p, err := shop.runtime.Open(remote.Unit{
		Description: c.Description, Program: path, Checksum: shop.checksum(t, path), Broker: brokerOf(t, c), Grants: c.Description.Capabilities, DataDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.(remote.Precompiler).Precompile(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func processCarrier() Carrier {
	return Carrier{Name: "process", Grants: true, Open: func(t *testing.T, c Case) sdk.Plugin {
		return openGuest(t, c, guestProcess, program(t))
	}}
}

func linesCarrier() Carrier {
	return Carrier{Name: "lines", Grants: true, Open: func(t *testing.T, c Case) sdk.Plugin {
		return openGuest(t, c, guestLines, program(t))
	}}
}

// nodeCarrier is the plugin in JavaScript. Its language finds the changes in JSON.
func nodeCarrier() Carrier {
	return Carrier{
		Name: "node", Grants: true, Foreign: true, Untyped: true,
		Skips: map[string]string{
			"changes/whole number": "1 and 1.0 are the same number in JavaScript",
			"changes/metadata":     "1e400 is Infinity in JavaScript",
			"models":               "the plugin in JavaScript has no models",
		},
		Open: func(t *testing.T, c Case) sdk.Plugin {
			return openCase(t, c, script(t, "node", "node/main.mjs")...)
		},
	}
}

// pythonCarrier is the plugin in Python.
func pythonCarrier() Carrier {
	return Carrier{
		Name: "python", Grants: true, Foreign: true, Untyped: true,
		Skips: map[string]string{
			"changes/metadata": "1e400 is infinity in Python, which JSON does not have",
			"models":           "the plugin in Python has no models",
		},
		Open: func(t *testing.T, c Case) sdk.Plugin {
			path, err := shop.python()
			if err != nil {
				t.Fatal(err)
			}
			command := script(t, path, "python/main.py")
			// Without the site packages of the machine, which may take longer to load than the plugin.
			return openCase(t, c, slices.Insert(command, 1, "-S")...)
		},
	}
}

// rustCarrier is the plugin in Rust.
func rustCarrier() Carrier {
	return Carrier{
		Name: "rust", Grants: true, Foreign: true, Untyped: true,
		Skips: map[string]string{"models": "the plugin in Rust has no models"},
		Open: func(t *testing.T, c Case) sdk.Plugin {
			return openCase(t, c, shop.rust(t, "rust", func() string { return "rustc" }))
		},
	}
}

// rustModuleCarrier is the plugin in Rust as a WASM module.
func rustModuleCarrier() Carrier {
	return Carrier{
		Name: "rust module", Isolated: true, Grants: true, Foreign: true, Untyped: true, Hang: conformance.FaultLoop,
		Skips: map[string]string{
			"models":      "the plugin in Rust has no models",
			"tools/panic": "a panic traps, and its text is in the log",
		},
		Open: func(t *testing.T, c Case) sdk.Plugin {
			compiler := func() string { return filepath.Join(scaffoldtest.RustDir(t), "rustc") }
			return openWASM(t, c, shop.rust( // without optimization, the suite takes five times as long
				t, "rust-module", compiler, "--target", scaffoldtest.WASMTarget, "--crate-type", "cdylib", "-C", "opt-level=1",
				"-C", "strip=symbols", "-C", "link-arg=-zstack-size=262144",
			))
		},
	}
}

// script returns the command that runs a script of a folder of this package.
func script(t *testing.T, interpreter, path string) []string {
	t.Helper()
	program, err := exec.LookPath(interpreter)
	if err != nil {
		t.Fatal(err)
	}
	if path, err = filepath.Abs(path); err != nil {
		t.Fatal(err)
	}
	return []string{program, path}
}

// program returns the path of this program.
func program(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// openCase opens the plugin of a case as a process.
func openCase(t *testing.T, c Case, command ...string) sdk.Plugin {
	t.Helper()
	return openGuest(t, c, "", command...)
}

// openGuest is openCase for a guest of this program.
func openGuest(t *testing.T, c Case, guest string, command ...string) sdk.Plugin {
	t.Helper()
	p, err := process.New(process.Options{StartTimeout: cmp.Or(c.StartTimeout, 20*time.Second)}).Open(remote.Unit{
		Description: c.Description, Command: command, Root: sourceRoot(t), Broker: brokerOf(t, c), Grants: c.Description.Capabilities, DataDir: t.TempDir(),
		Env: map[string]string{guestEnv: guest},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sourceRoot is the directory of the repository: scripts load the libraries there.
func sourceRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

package conformance_test

import (
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

	once struct {
		sync.Once
		turn turn
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
	w.runtime = wasm.New(wasm.Options{CacheDir: plugintest.CompiledModules(filepath.Join(dir, "cache"))})
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

// compile runs a compiler for a folder, once, and returns the path of the file.
func (w *workshop) compile(t testing.TB, folder string, env []string, command func(out string) []string) string {
	t.Helper()
	w.mu.Lock()
	once := w.built[folder]
	if once == nil {
		once = sync.OnceValues(func() (string, error) {
			out := filepath.Join(w.dir, folder+".bin")
			args := command(out)
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Env = append(os.Environ(), env...)
			if text, err := cmd.CombinedOutput(); err != nil {
				return "", fmt.Errorf("build %s: %w\n%s", folder, err, text)
			}
			return out, nil
		})
		w.built[folder] = once
	}
	w.mu.Unlock()
	path, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// healthy returns a turn without a plugin that goes wrong, always the same.
func (w *workshop) healthy(t *testing.T) turn {
	t.Helper()
	w.once.Do(func() { w.once.turn = healthyTurn(t) })
	if w.once.turn.answer == "" {
		t.Fatal("the turn without the plugin failed in another test")
	}
	return w.once.turn
}

// module returns the SHA-256 of a built module, and opens a plugin that keeps its code loaded for those of the cases until the runtime is
// closed.
func (w *workshop) module(t *testing.T, r *wasm.Runtime, path string) string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if sum, ok := w.sums[path]; ok {
		return sum
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	p, err := r.Open(remote.Unit{Description: sdk.Description{Name: "keeper"}, Program: path, Checksum: sum})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.(remote.Precompiler).Precompile(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.sums[path] = sum
	return sum
}

func wasmCarrier() Carrier {
	return Carrier{
		Name: "wasm", Isolated: true, Grants: true, Hang: conformance.FaultLoop,
		Open: func(t *testing.T, c Case) sdk.Plugin {
			return openWASM(t, c, shop.compile(t, "wasm", []string{"GOOS=wasip1", "GOARCH=wasm"}, func(out string) []string {
				files, _ := filepath.Glob("plugin*_test.go") // the pattern is valid
				return append([]string{"go", "test", "-c", "-o", out, "-buildmode=c-shared"}, files...)
			}))
		},
	}
}

// openWASM opens the plugin of a case as a WASM module.
func openWASM(t *testing.T, c Case, path string) sdk.Plugin {
	t.Helper()
	r := shop.runtime
	p, err := r.Open(remote.Unit{
		Description: c.Description, Program: path, Checksum: shop.module(t, r, path), Broker: brokerOf(t, c), Grants: c.Description.Capabilities, DataDir: t.TempDir(),
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
			return openCase(t, c, shop.compile(t, "rust", nil, func(out string) []string {
				return []string{"rustc", "--edition", "2021", "-o", out, "rust/main.rs"}
			}))
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
			return openWASM(t, c, shop.compile(t, "rust-module", nil, func(out string) []string {
				rustc := filepath.Join(scaffoldtest.RustDir(t), "rustc")
				return []string{
					rustc, "--edition", "2021", "--target", scaffoldtest.WASMTarget, "--crate-type", "cdylib",
					"-C", "strip=symbols", "-C", "link-arg=-zstack-size=262144", "-o", out, "rust/main.rs",
				}
			}))
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
	p, err := process.New(process.Options{StartTimeout: 20 * time.Second}).Open(remote.Unit{
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

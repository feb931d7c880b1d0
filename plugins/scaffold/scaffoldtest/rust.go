// Package scaffoldtest finds compilers for tests of new plugins.
package scaffoldtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// WASMTarget is the target of Rust plugins that are WASM modules.
const WASMTarget = "wasm32-unknown-unknown"

// RustDir returns the directory of PATH with a rustc that compiles WASM modules. The rustc of a version manager often hides that of the
// system, which has the target.
func RustDir(t testing.TB) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		rustc := filepath.Join(dir, "rustc")
		if runtime.GOOS == "windows" {
			rustc += ".exe"
		}
		sysroot, err := exec.CommandContext(t.Context(), rustc, "--print", "sysroot").Output()
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(sysroot)), "lib", "rustlib", WASMTarget)); err == nil {
			return dir
		}
	}
	t.Fatalf("no rustc in PATH has the target %s; install libstd-rust-dev-wasm32 (Debian), or run: rustup target add %[1]s", WASMTarget)
	return ""
}

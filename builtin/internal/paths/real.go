package paths

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// Real returns where the absolute path leads; see projectfs.Real.
func Real(path string) string { return projectfs.Real(path) }

// Itself returns the real path of abs without following a link that abs itself may be.
func Itself(abs string) string { return filepath.Join(Real(filepath.Dir(abs)), filepath.Base(abs)) }

// located holds, by clean path, where the paths of a call led when permission was requested for them.
type located map[string]string

// Locate returns where the clean path abs of a call leads. It leads there for the whole call: when a link on the way changed since
// the call's permission was requested, the error wraps projectfs.ErrChanged.
func Locate(call *sdk.ToolCall, abs string) (string, error) {
	real := Real(abs)
	known, ok := call.Prepared.(located)
	if !ok {
		known = located{}
		call.Prepared = known
	}
	if before, ok := known[abs]; ok && before != real {
		return "", fmt.Errorf("%w: %s led to %s, and leads to %s now; try again", projectfs.ErrChanged, abs, before, real)
	}
	known[abs] = real
	return real, nil
}

// realOf returns where abs led when it was located, or leads now.
func realOf(call *sdk.ToolCall, abs string) string {
	if known, ok := call.Prepared.(located); ok && known[abs] != "" {
		return known[abs]
	}
	return Real(abs)
}

// Inside reports whether the real path lies in the project of the call.
func Inside(call *sdk.ToolCall, real string) bool {
	return projectfs.Within(Real(call.Worktree), real) || projectfs.Within(Real(call.Directory), real)
}

// Trusted returns the real paths below which a call's files are opened; see projectfs.OpenDir.
func Trusted(call *sdk.ToolCall) []string {
	trusted := []string{Real(call.Worktree), Real(call.Directory)}
	if home, err := os.UserHomeDir(); err == nil {
		trusted = append(trusted, Real(home))
	}
	return trusted
}

package paths

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// Real returns the real path of an absolute path; see projectfs.Real.
func Real(path string) string { return projectfs.Real(path) }

// Itself returns the real path of abs without following abs itself if it is a link.
func Itself(abs string) string { return filepath.Join(Real(filepath.Dir(abs)), filepath.Base(abs)) }

// located contains the real paths, by clean path, at the time of a call's permission request.
type located map[string]string

// Locate returns the real path of the clean path abs. It is the same for the whole call: if a link in the path has changed since
// the call's permission request, the error wraps projectfs.ErrChanged.
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

// realOf returns the real path at the time of Locate, or the current one.
func realOf(call *sdk.ToolCall, abs string) string {
	if known, ok := call.Prepared.(located); ok && known[abs] != "" {
		return known[abs]
	}
	return Real(abs)
}

// Inside reports whether the real path is in the call's project.
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

package files

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// maxCandidates is the maximum number of names in a directory that are compared.
const maxCandidates = 10_000

// notFound returns the error for a file that does not exist, with a similar name in its directory. It wraps fs.ErrNotExist.
func notFound(call *sdk.ToolCall, t target) error {
	entries, err := projectfs.ReadDir(t.trusted, filepath.Dir(t.real))
	if err != nil {
		return fmt.Errorf("%q: %w, nor does its directory; look for it with glob", t.name, fs.ErrNotExist)
	}
	names := make([]string, min(len(entries), maxCandidates))
	for i := range names {
		names[i] = entries[i].Name()
	}
	if name := nearest.Name(filepath.Base(t.real), names); name != "" {
		return fmt.Errorf("%q: %w; did you mean %q?", t.name, fs.ErrNotExist, paths.Display(call, filepath.Join(filepath.Dir(t.abs), name)))
	}
	return fmt.Errorf("%q: %w; look for it with glob", t.name, fs.ErrNotExist)
}

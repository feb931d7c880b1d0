package files

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// maxSuggestions is how many names are suggested for one that does not exist.
	maxSuggestions = 3
	// maxCandidates bounds how many names of a directory are compared.
	maxCandidates = 10000
)

// notFound returns the error about a file that does not exist, with the names that may have been meant.
// It wraps fs.ErrNotExist.
func notFound(call *sdk.ToolCall, t target) error {
	dir := filepath.Dir(t.real)
	if !isDir(dir) {
		for !isDir(dir) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
		return fmt.Errorf("%q: %w; the nearest directory above it that exists is %q", t.name, fs.ErrNotExist, paths.Display(call, dir))
	}
	var names []string
	for _, name := range similar(dir, filepath.Base(t.real)) {
		names = append(names, fmt.Sprintf("%q", paths.Display(call, filepath.Join(filepath.Dir(t.abs), name))))
	}
	if len(names) == 0 {
		return fmt.Errorf("%q: %w; look for it with glob", t.name, fs.ErrNotExist)
	}
	return fmt.Errorf("%q: %w; did you mean %s?", t.name, fs.ErrNotExist, strings.Join(names, ", "))
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// similar returns the names in dir that are most like name.
func similar(dir, name string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close() // only read: an error of Close tells nothing
	names, err := f.Readdirnames(maxCandidates)
	if err != nil {
		return nil
	}
	type candidate struct {
		name  string
		score float64
	}
	var best []candidate
	want := strings.ToLower(name)
	for _, n := range names {
		have := strings.ToLower(n)
		score := similarity(want, have)
		if strings.Contains(have, want) || strings.Contains(want, have) {
			score += 0.5
		}
		if score >= 0.6 {
			best = append(best, candidate{n, score})
		}
	}
	slices.SortFunc(best, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.name, b.name))
	})
	var out []string
	for _, c := range best[:min(len(best), maxSuggestions)] {
		out = append(out, c.name)
	}
	return out
}

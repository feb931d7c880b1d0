package files

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

const (
	maxSuggestions = 3     // names suggested for one that does not exist
	maxCandidates  = 10000 // names of a directory that are compared
)

// notFound returns the error for a file that does not exist, with similar names.
// It wraps fs.ErrNotExist.
func notFound(call *sdk.ToolCall, t target) error {
	dir := filepath.Dir(t.real)
	if !t.isDir(dir) {
		for !t.isDir(dir) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
		return fmt.Errorf("%q: %w; the nearest existing directory above it is %q", t.name, fs.ErrNotExist, paths.Display(call, dir))
	}
	var names []string
	for _, name := range t.similar(dir, filepath.Base(t.real)) {
		names = append(names, fmt.Sprintf("%q", paths.Display(call, filepath.Join(filepath.Dir(t.abs), name))))
	}
	if len(names) == 0 {
		return fmt.Errorf("%q: %w; look for it with glob", t.name, fs.ErrNotExist)
	}
	return fmt.Errorf("%q: %w; did you mean %s?", t.name, fs.ErrNotExist, strings.Join(names, ", "))
}

// isDir reports whether the real path is a directory that can be opened.
func (t target) isDir(real string) bool {
	d, err := projectfs.OpenDir(t.trusted, real)
	if err != nil {
		return false
	}
	_ = d.Close() // nothing was read from it
	return true
}

// similar returns the names in dir that are most similar to name.
func (t target) similar(dir, name string) []string {
	entries, err := projectfs.ReadDir(t.trusted, dir)
	if err != nil {
		return nil
	}
	type candidate struct {
		name  string
		score float64
	}
	var best []candidate
	want := strings.ToLower(name)
	for _, e := range entries[:min(len(entries), maxCandidates)] {
		n := e.Name()
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

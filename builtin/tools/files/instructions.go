package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Limits of the note about instruction files, whose directories a repository chooses: the number of files, the nearest first, and the
// characters of a path.
const (
	maxNamed = 3
	maxPath  = 300
)

// instructions returns a note about instruction files that the session has not read: one per directory, from the directory of the file up to
// the working directory. The system prompt contains those of the working directory and above. Hidden directories and dependencies have none.
func (p *plugin) instructions(call *sdk.ToolCall, t target) string {
	var out strings.Builder
	top := paths.Real(call.Directory)
	below, err := filepath.Rel(top, t.real)
	if err != nil || !filepath.IsLocal(below) || slices.ContainsFunc(strings.Split(below, string(filepath.Separator)), foreign) {
		return ""
	}
	shown := func(path string) string { return visible.Clean(paths.Display(call, path), maxPath) }
	named := 0
	for dir := filepath.Dir(t.real); named < maxNamed && dir != top && projectfs.Inside(top, dir); dir = filepath.Dir(dir) {
		for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
			path := filepath.Join(dir, name)
			info, err := os.Lstat(path)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			if !p.history.has(call.SessionID, path) {
				fmt.Fprintf(&out, "\nInstructions for %s are in %s. Read them before you change files there.", shown(dir), shown(path))
				named++
			}
			break
		}
	}
	return out.String()
}

func foreign(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor"
}

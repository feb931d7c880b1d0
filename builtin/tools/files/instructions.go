package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// instructions names the instruction files between the working directory and a file that the session has not read, one of a directory. The
// system prompt has those of the working directory and above. Directories of dependencies and hidden ones give no instructions.
func (p *plugin) instructions(call *sdk.ToolCall, t target) string {
	var out strings.Builder
	top := paths.Real(call.Directory)
	below, err := filepath.Rel(top, t.real)
	if err != nil || !filepath.IsLocal(below) || slices.ContainsFunc(strings.Split(below, string(filepath.Separator)), foreign) {
		return ""
	}
	for dir := filepath.Dir(t.real); dir != top && projectfs.Inside(top, dir); dir = filepath.Dir(dir) {
		for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
			path := filepath.Join(dir, name)
			info, err := os.Lstat(path)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			if !p.history.has(call.SessionID, path) {
				fmt.Fprintf(&out, "\nInstructions for %s are in %s. Read them before you change files there.", paths.Display(call, dir), paths.Display(call, path))
			}
			break
		}
	}
	return out.String()
}

func foreign(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor"
}

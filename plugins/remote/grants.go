package remote

import (
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// Locate returns the directory of an entry in the scope of fs.read or fs.write: the base that it starts with, which is the project for
// $PROJECT, dataDir for $DATA and otherwise the entry itself, and the path from there. data reports $DATA. The base is empty if
// the entry refers to nothing. A link must not lead from the base elsewhere; the caller checks that.
func Locate(entry string, project sdk.Project, dataDir string) (base, rest string, data bool) {
	variable, rest, _ := strings.Cut(entry, "/")
	switch {
	case variable == "$PROJECT":
		base = project.Worktree
	case variable == "$DATA":
		base, data = dataDir, true
	default:
		base, rest = entry, ""
	}
	if !filepath.IsAbs(base) {
		return "", "", data
	}
	return filepath.Clean(base), filepath.FromSlash(strings.TrimLeft(rest, "/")), data
}

// Private returns the directory of tenon itself (configuration, data, cache), or the configuration file, that dir contains or is inside of,
// with links followed; empty if none. Plugins have no access to those, except to their own below $DATA.
func Private(dir string, project sdk.Project, files []string) string {
	for _, own := range append([]string{project.ConfigDir, project.DataDir, project.CacheDir}, files...) {
		if own != "" && projectfs.Overlap(dir, own) {
			return own
		}
	}
	return ""
}

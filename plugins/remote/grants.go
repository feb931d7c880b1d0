package remote

import (
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// Locate returns the directory of an entry in the scope of fs.read or fs.write: its base (the project for $PROJECT, dataDir for $DATA,
// otherwise the entry itself), and the path below the base. data reports $DATA. The base is empty if the entry refers to nothing. The
// caller checks that no link leads out of the base.
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

// Private returns tenon's directory (configuration, data, cache) or the configuration file that dir contains or is inside of, with links
// followed; empty if none. Plugins have no access to these, except to their own data.
func Private(dir string, project sdk.Project, files []string) string {
	for _, own := range append([]string{project.ConfigDir, project.DataDir, project.CacheDir}, files...) {
		if own != "" && projectfs.Overlap(dir, own) {
			return own
		}
	}
	return ""
}

// Package remote holds the parts that carriers of plugins outside of the host's process share: the plugin to run, its hooks and tools as
// the host sees them, the session of a call, and the limit on log lines.
package remote

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
)

// Unit is a plugin that a carrier runs. All paths are absolute.
type Unit struct {
	// Description lists the contributions, as package manifest accepts them. The carrier calls no others. Name is required.
	Description sdk.Description
	Owner       string           // sdk.AuthMethod.Owner of its sign-ins; default: its name
	Grants      []sdk.Capability // capabilities that the user granted
	// Broker answers the plugin's requests to the host. The plugin binds it in Start and closes it in Close. If nil, the plugin has no
	// operations.
	Broker *ability.Broker
	// Options are the user's options. If empty, the carrier uses those of the host.
	Options json.RawMessage

	// Root is the directory of the package, or of the single file. Default: the directory of Program.
	Root string
	// Command starts a process: an absolute path and arguments.
	Command []string
	// Program is the file that Checksum belongs to: the WASM module, the executable, or the script that an interpreter runs.
	// Default: Command[0].
	Program string
	// Checksum is the SHA-256 of Program, 64 hexadecimal digits. Carriers check it when they start the file; if empty, they do not.
	Checksum string

	Env     map[string]string // granted variables
	DataDir string            // the plugin's own directory, made by the carrier with mode 0700; empty: none
	// ConfigFiles are the files of the user's configuration, absolute. No granted directory may contain one.
	ConfigFiles []string
	Logger      *slog.Logger // receives messages until Start provides a logger; nil: they are dropped
}

func (u *Unit) owner() string { return cmp.Or(u.Owner, u.Description.Name) }

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
// followed; empty if none. The targets of links in these directories count as well, except those of the user's skills. Plugins have no access
// to any of them, except to their own data.
func Private(dir string, project sdk.Project, files []string) string {
	for _, own := range append([]string{project.ConfigDir, project.DataDir, project.CacheDir}, files...) {
		if own == "" {
			continue
		}
		for _, path := range append([]string{own}, projectfs.PrivateLinks(own)...) {
			if projectfs.Overlap(dir, path) {
				return path
			}
		}
	}
	return ""
}

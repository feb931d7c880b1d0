package plugins

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// ErrPrivate means that a granted directory contains one of tenon's own directories or configuration files, or is inside one.
var ErrPrivate = errors.New("plugins have no access to tenon's own directories")

// private returns tenon's own directories (configuration, data and cache) and configuration files elsewhere. Empty paths are unknown.
func (l *Loader) private() []string {
	return append([]string{l.opts.Project.ConfigDir, l.opts.Project.DataDir, l.opts.CacheDir}, l.opts.ConfigFiles...)
}

// Grantable returns an error that wraps ErrPrivate for the first granted directory that contains one of tenon's own directories or
// configuration files, or is inside one. It follows links. $DATA is the plugin's.
func (l *Loader) Grantable(grants []sdk.Capability) error {
	for _, g := range grants {
		if g.Name != sdk.CapabilityRead && g.Name != sdk.CapabilityWrite {
			continue
		}
		for _, dir := range g.Scope {
			path := dir
			if rest, ok := strings.CutPrefix(dir, "$PROJECT"); ok {
				path = filepath.Join(l.opts.Project.Worktree, filepath.FromSlash(rest))
			}
			if !filepath.IsAbs(path) {
				continue // $DATA
			}
			for _, own := range l.private() {
				if own != "" && projectfs.Overlap(path, own) {
					return fmt.Errorf("%w: %s %q contains %s or is inside it; do not grant it (--without %s)", ErrPrivate, g.Name, dir, own, g.Name)
				}
			}
		}
	}
	return nil
}

package plugins

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// ErrPrivate is returned for a granted directory that contains one of tenon's own directories or configuration files, or is inside one.
var ErrPrivate = errors.New("plugins have no access to tenon's own directories")

// Grantable returns an error that wraps ErrPrivate for the first granted directory that contains one of tenon's own directories or
// configuration files, or is inside one. It follows links. $DATA is the plugin's.
func (l *Loader) Grantable(grants []sdk.Capability) error {
	project := l.opts.Project
	project.CacheDir = l.opts.CacheDir
	for _, g := range grants {
		if g.Name != sdk.CapabilityRead && g.Name != sdk.CapabilityWrite {
			continue
		}
		for _, dir := range g.Scope {
			base, rest, data := remote.Locate(dir, project, "")
			if data || base == "" {
				continue
			}
			if own := remote.Private(filepath.Join(base, rest), project, l.opts.ConfigFiles); own != "" {
				return fmt.Errorf("%w: %s %q contains %s or is inside it; do not grant it (--without %s)", ErrPrivate, g.Name, dir, own, g.Name)
			}
		}
	}
	return nil
}

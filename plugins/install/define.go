package install

import (
	"os"
	"path/filepath"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/source"
)

// define writes the manifest that a marketplace makes of a fetched plugin in dir: the pinned one, or that of the catalogue's entry.
func (p *plan) define(fetched *source.Fetched, dir string) error {
	if p.found != nil {
		info, err := os.Stat(fetched.Path)
		if err != nil || !info.IsDir() {
			return err
		}
		own, err := manifest.ReadClaude(fetched.Path)
		if err != nil {
			return err
		}
		if fetched.Definition, err = p.found.Manifest(own, manifest.Is(fetched.Path)); err != nil {
			return err
		}
	}
	if len(fetched.Definition) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() // its files were closed
	if err := root.MkdirAll(filepath.Dir(manifest.ClaudeFile), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteIn(root, filepath.FromSlash(manifest.ClaudeFile), jsontext.Compact(fetched.Definition), atomicfile.Options{Mode: 0o644})
}

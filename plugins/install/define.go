package install

import (
	"os"
	"path/filepath"

	"github.com/tenonhq/tenon/internal/atomicfile"
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
		text, err := p.found.Manifest(own, manifest.Is(fetched.Path))
		if err != nil {
			return err
		}
		fetched.Definition = source.JSON(text)
	}
	if fetched.Definition == "" {
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
	return atomicfile.WriteIn(root, filepath.FromSlash(manifest.ClaudeFile), []byte(fetched.Definition), atomicfile.Options{Mode: 0o644})
}

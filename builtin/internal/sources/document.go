package sources

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/frontmatter"
	"github.com/tenonhq/tenon/sdk"
)

// MaxDocument bounds a document in bytes.
const MaxDocument = 256 << 10

// Document reads a Markdown file and decodes its front matter into meta, a pointer to a struct.
func (w *Watch) Document(path string, meta any) (*frontmatter.Document, error) {
	data, cut, err := w.ReadFile(path, MaxDocument)
	if err != nil {
		return nil, err
	}
	if cut {
		return nil, fmt.Errorf("larger than %d bytes; move parts of it into files that it names", MaxDocument)
	}
	doc, err := frontmatter.Parse(data)
	if err != nil {
		return nil, err
	}
	return doc, doc.Decode(meta)
}

// Name returns what a file below dir defines: its path there without the extension, with slashes.
func Name(dir, path string) (string, error) {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return "", err
	}
	return filepath.ToSlash(strings.TrimSuffix(rel, filepath.Ext(rel))), nil
}

// Users reports whether a path lies in the user's own configuration folder.
func Users(project sdk.Project, path string) bool {
	rel, err := filepath.Rel(project.ConfigDir, path)
	return project.ConfigDir != "" && err == nil && filepath.IsLocal(rel)
}

// Replacing returns the places of definitions that a new one replaces: where the latest stands, then what that one replaced.
func Replacing(latest string, earlier []string) []string {
	return append([]string{latest}, earlier...)
}

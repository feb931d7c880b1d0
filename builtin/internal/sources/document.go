package sources

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/frontmatter"
)

// maxDocument is the maximum size of a document in bytes.
const maxDocument = 256 << 10

// Document is a Markdown file with front matter.
type Document struct {
	frontmatter.Document
	Path   string
	Digest string // SHA-256 of the file, in hexadecimal
	Name   string // the path below the directory it was found in, with slashes, without the extension
}

// Documents reads the files below dir that accept matches, sorted by path, and calls use with each and its decoded front
// matter. A file with an error, from reading or from use, is logged and skipped.
func Documents[Meta any](w *Watch, dir string, accept func(name string) bool, use func(*Document, *Meta) error) {
	for _, path := range w.Tree(dir, accept) {
		var meta Meta
		doc, err := w.document(dir, path, &meta)
		if err == nil {
			err = use(doc, &meta)
		}
		if err != nil {
			w.log.Warn("file left out", "file", path, "err", err)
		}
	}
}

func (w *Watch) document(dir, path string, meta any) (*Document, error) {
	data, cut, err := w.ReadFile(path, maxDocument)
	if err != nil {
		return nil, err
	}
	if cut {
		return nil, fmt.Errorf("larger than %d bytes; move parts of it into files that it names", maxDocument)
	}
	parsed, err := frontmatter.Parse(data)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return nil, err
	}
	name = filepath.ToSlash(strings.TrimSuffix(name, filepath.Ext(name)))
	sum := sha256.Sum256(data)
	return &Document{*parsed, path, hex.EncodeToString(sum[:]), name}, parsed.Decode(meta)
}

// Markdown accepts the names of Markdown files.
func Markdown(name string) bool { return strings.EqualFold(filepath.Ext(name), ".md") }

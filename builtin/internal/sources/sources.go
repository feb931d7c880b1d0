// Package sources finds and reads the text files of users and repositories: agents, commands, skills,
// instructions. It knows their folders and notices when a file changes.
package sources

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/internal/frontmatter"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// ConfigFolders returns the folders that can contain configuration in Markdown, the most general first: the
// user's, then .opencode and .tenon of every directory from the root of the project to the working directory. A later
// definition replaces an earlier one of the same name.
func ConfigFolders(project sdk.Project) []string {
	folders := []string{project.ConfigDir}
	for _, dir := range projectfs.Upward(project.Directory, project.Worktree) {
		folders = append(folders, filepath.Join(dir, ".opencode"), filepath.Join(dir, ".tenon"))
	}
	return folders
}

// Shorten returns path relative to the project's directory or to ~ if it is below one of them.
func Shorten(project sdk.Project, path string) string {
	if rel, ok := below(project.Directory, path); ok {
		return filepath.ToSlash(rel)
	}
	if rel, ok := below(project.Home, path); ok {
		return "~" + string(os.PathSeparator) + rel
	}
	return path
}

// Users reports whether a path is in the user's configuration folder.
func Users(project sdk.Project, path string) bool { return projectfs.Inside(project.ConfigDir, path) }

func below(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	return rel, dir != "" && err == nil && filepath.IsLocal(rel)
}

// maxDocument is the maximum size of a document in bytes.
const maxDocument = 256 << 10

// Document is a Markdown file with front matter.
type Document struct {
	frontmatter.Document
	Path   string
	Digest string // SHA-256 of the file, in hexadecimal
	Name   string // the path below the directory it was found in, with slashes, without the extension
}

// nameLine matches a name in front matter that cannot be parsed.
var nameLine = lazyregexp.New(`(?m)^name:.*$`)

// maxName is the maximum number of characters of a name in the front matter, as for skills.
const maxName = 64

// Named returns the name in the front matter, which in opencode takes precedence, or Name if there is none or it is not a short line of text.
func (d *Document) Named() string {
	var own struct{ Name string }
	_ = d.Decode(&own) // a name that is not text leaves it empty
	if visible.Clean(own.Name, maxName) != own.Name {
		own.Name = ""
	}
	return cmp.Or(own.Name, d.Name)
}

// Documents reads the files below dir that accept matches, sorted by path, and calls use with each and its decoded front
// matter. A file with an error, from reading or from use, is logged and skipped. Of leftOut, these files, only the names are known.
func Documents[Meta any](w *Watch, dir string, accept func(name string) bool, use func(*Document, *Meta) error) (leftOut []*Document) {
	for _, path := range w.Tree(dir, accept) {
		var meta Meta
		name, _ := filepath.Rel(dir, path) // path is below dir
		name = filepath.ToSlash(strings.TrimSuffix(name, filepath.Ext(name)))
		doc, err := w.document(name, path, &meta)
		if err == nil {
			err = use(doc, &meta)
		}
		if err != nil {
			w.log.Warn("file left out", "file", path, "err", err)
			if doc == nil {
				doc = &Document{Path: path, Name: name}
			}
			leftOut = append(leftOut, doc)
		}
	}
	return leftOut
}

func (w *Watch) document(name, path string, meta any) (*Document, error) {
	data, cut, err := w.ReadFile(path, maxDocument)
	if err != nil {
		return nil, err
	}
	if cut {
		return nil, fmt.Errorf("larger than %d bytes; move parts of it into files that it names", maxDocument)
	}
	parsed, err := frontmatter.Parse(data)
	if err != nil { // the name may still be readable
		head, _, _ := bytes.Cut(data, []byte("\n---"))
		if parsed, _ = frontmatter.Parse(fmt.Appendf(nil, "---\n%s\n---\n", nameLine().Find(head))); parsed == nil {
			return nil, err
		}
		return &Document{Document: *parsed, Path: path, Name: name}, err
	}
	sum := sha256.Sum256(data)
	return &Document{*parsed, path, hex.EncodeToString(sum[:]), name}, parsed.Decode(meta)
}

// Markdown accepts the names of Markdown files.
func Markdown(name string) bool { return strings.EqualFold(filepath.Ext(name), ".md") }

// Loader is the common part of the plugins that contribute text files: T is the result of reading them. The fields are
// set by Start, or by a caller without a host.
type Loader[T any] struct {
	Log     *slog.Logger
	Project sdk.Project
	Config  *sdk.Config // empty if the host has none

	mu     sync.Mutex
	watch  *Watch
	result T
}

// Start stores the host's project and configuration. It reads no files.
func (l *Loader[T]) Start(_ context.Context, h sdk.Host) error {
	l.Log, l.Project, l.Config = h.Logger(), h.Project(), &sdk.Config{}
	l.watch = nil // a result for another host does not count
	if c, ok := h.(sdk.ConfigReader); ok && c.Config() != nil {
		l.Config = c.Config()
	}
	return nil
}

// Close does nothing: no work runs between calls.
func (*Loader[T]) Close(context.Context) error { return nil }

// Current returns the result of load, which it calls again only if a file that load looked at has changed. Callers must not
// change the result.
func (l *Loader[T]) Current(load func(*Watch) T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watch == nil || !l.watch.Fresh() {
		l.watch = NewWatch(l.Project, l.Log)
		l.result = load(l.watch)
	}
	return l.result
}

// SystemHook returns a hook that appends the result of text to the system prompt of turns and subtasks, unless it is empty.
func SystemHook(name string, text func(in *sdk.ChatInput) string) sdk.Hook {
	h := sdk.OnChatSystem(func(_ context.Context, in *sdk.ChatInput, v *sdk.ChatSystemValue) error {
		if in.Purpose != sdk.PurposeTurn && in.Purpose != sdk.PurposeSubtask {
			return nil
		}
		if s := text(in); s != "" {
			v.System = append(v.System, s)
		}
		return nil
	})
	h.Name = name
	h.Reads, h.Writes = []string{"/system"}, []string{"/system"}
	return h
}

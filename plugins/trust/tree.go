package trust

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/archive"
)

// Kinds of errors about content.
var (
	// ErrContent is returned for a package with content that cannot be approved.
	ErrContent = errors.New("cannot be approved")
	// ErrChanged is returned for content that differs from its digest.
	ErrChanged = errors.New("has changed")
)

// Digest identifies approved content: "sha256:" and 64 hexadecimal digits. Empty means unknown.
type Digest string

func sum(data []byte) Digest {
	s := sha256.Sum256(data)
	return Digest("sha256:" + hex.EncodeToString(s[:]))
}

// Short returns the first digits, for display.
func (d Digest) Short() string { return d.hex()[:min(12, len(d.hex()))] }

func (d Digest) hex() string { return strings.TrimPrefix(string(d), "sha256:") }

// Valid reports whether d is a digest: it becomes part of a path.
func (d Digest) Valid() bool {
	return strings.HasPrefix(string(d), "sha256:") && len(d.hex()) == 2*sha256.Size && strings.Trim(d.hex(), "0123456789abcdef") == ""
}

// Bounds of the content that is read.
const (
	maxFiles = 20_000 // files, directories and links
	maxBytes = 512 << 20
	maxDepth = 64 // of directories
)

// Kinds of entries.
const (
	kindDir  = "d"
	kindFile = "f"
	kindLink = "l" // a link to something inside of the package
	kindOut  = "x" // a link that leads out: not copied
)

// entry is a file, directory or link of a tree.
type entry struct {
	kind   string
	path   string // with slashes, from the root; of a single file its fixed name
	exec   bool
	size   int64
	sum    string // of a file's content, SHA-256 in hexadecimal digits
	target string // of a link
}

// Tree is the content of a package or a single file.
type Tree struct {
	single  bool
	entries []entry // sorted by path
}

// Digest returns the digest of the tree. It covers every path, content, executable bit and link target; no two trees share it.
func (t *Tree) Digest() Digest { return sum(t.index()) }

// index lists the tree, one entry per line. Names are quoted and sizes included, so no content can pass for another name.
func (t *Tree) index() []byte {
	var b bytes.Buffer
	b.WriteString("tenon package 1\n")
	if t.single {
		b.Reset()
		b.WriteString("tenon file 1\n")
	}
	for _, e := range t.entries {
		mode := "-"
		if e.exec {
			mode = "x"
		}
		fmt.Fprintf(&b, "%s %s %d %s %s %s\n", e.kind, mode, e.size, e.sum, strconv.QuoteToASCII(e.path), strconv.QuoteToASCII(e.target))
	}
	return b.Bytes()
}

// parseIndex returns the tree of an index.
func parseIndex(index []byte) *Tree {
	t := &Tree{single: bytes.HasPrefix(index, []byte("tenon file"))}
	for line := range strings.Lines(string(index)) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 5)
		if len(f) < 5 {
			continue // the first line
		}
		e := entry{kind: f[0], exec: f[1] == "x", sum: f[3]}
		name, _ := strconv.QuotedPrefix(f[4]) // the index is the one that was written
		e.size, _ = strconv.ParseInt(f[2], 10, 64)
		e.path, _ = strconv.Unquote(name)
		e.target, _ = strconv.Unquote(strings.TrimSpace(f[4][len(name):]))
		t.entries = append(t.entries, e)
	}
	return t
}

// ReadTree reads the package or the file at path; a link there is followed. The .git of a package is not part of it. Errors wrap
// ErrContent, or are those of the file system and of ctx.
func ReadTree(ctx context.Context, path string) (*Tree, error) {
	return scan(ctx, path, "")
}

// scan reads a tree and copies it to into, unless that is empty.
func scan(ctx context.Context, from, into string) (*Tree, error) {
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	s := &scanner{into: into, tree: &Tree{single: !info.IsDir()}, real: real}
	if s.tree.single {
		err = s.single()
	} else {
		err = s.folder(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return s.tree, nil
}

// scanner reads one tree.
type scanner struct {
	real  string // where the tree is, links resolved
	into  string
	tree  *Tree
	bytes int64
}

// single reads a tree of one file. Its name in the tree is its kind, not the name of the file.
func (s *scanner) single() error {
	dir, name, err := projectfs.Parent([]string{filepath.Dir(s.real)}, s.real)
	if err != nil {
		return err
	}
	defer dir.Close() // only read
	return s.file(dir, name, singleName(s.real))
}

func singleName(path string) string {
	if strings.EqualFold(filepath.Ext(path), ".wasm") {
		return "plugin.wasm"
	}
	if runtime.GOOS == "windows" {
		return "plugin.exe"
	}
	return "plugin"
}

func (s *scanner) folder(ctx context.Context) error {
	root, err := projectfs.OpenDir([]string{s.real}, s.real)
	if err != nil {
		return err
	}
	defer root.Close() // only read
	if err := root.Walk(ctx, s.add); err != nil {
		return err
	}
	slices.SortFunc(s.tree.entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	s.tree.markOutside()
	for _, e := range s.tree.entries {
		if e.kind == kindLink && s.into != "" { // after all their targets exist
			if err := os.Symlink(filepath.FromSlash(e.target), s.dest(e.path)); err != nil {
				return err
			}
		}
	}
	return nil
}

// add reads an entry of the directory in, whose path in the tree is name.
func (s *scanner) add(in *projectfs.Dir, name string, found fs.DirEntry) error {
	switch {
	case name == ".git":
		return fs.SkipDir
	case len(s.tree.entries) >= maxFiles:
		return fmt.Errorf("%w: more than %d files; remove what the plugin does not need to run", ErrContent, maxFiles)
	case strings.ContainsFunc(name, func(r rune) bool { return !visible.Is(r) }) || strings.Contains(name, `\`):
		return fmt.Errorf("%w: %s: the name holds characters that do not show; rename it", ErrContent, shown(name))
	case found.IsDir() && strings.Count(name, "/") >= maxDepth:
		return fmt.Errorf("%w: %s: nested deeper than %d directories", ErrContent, shown(name), maxDepth)
	case found.IsDir():
		s.tree.entries = append(s.tree.entries, entry{kind: kindDir, path: name})
		if s.into == "" {
			return nil
		}
		return os.Mkdir(s.dest(name), 0o700)
	case found.Type()&fs.ModeSymlink != 0:
		target, err := in.Readlink(found.Name())
		s.tree.entries = append(s.tree.entries, entry{kind: kindLink, path: name, target: archive.Relative(s.real, name, target)})
		return err
	}
	return s.file(in, found.Name(), name)
}

// file reads one file of the directory in, and copies it.
func (s *scanner) file(in *projectfs.Dir, name, as string) error {
	f, info, err := in.Open(name)
	if errors.Is(err, projectfs.ErrSpecial) {
		return fmt.Errorf("%w: %s: %w; a plugin consists of files, directories and links", ErrContent, shown(path.Join(path.Dir(as), name)), err)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	e := entry{kind: kindFile, path: as, exec: info.Mode()&0o111 != 0}
	h := sha256.New()
	to := io.Writer(h)
	if s.into != "" {
		mode := fs.FileMode(0o400)
		if e.exec {
			mode = 0o500
		}
		copied, err := os.OpenFile(s.dest(as), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		defer copied.Close()
		to = io.MultiWriter(h, copied)
	}
	if e.size, err = io.Copy(to, io.LimitReader(f, maxBytes-s.bytes+1)); err != nil {
		return err
	}
	if s.bytes += e.size; s.bytes > maxBytes {
		return fmt.Errorf("%w: more than %d bytes; remove what the plugin does not need to run", ErrContent, maxBytes)
	}
	e.sum = hex.EncodeToString(h.Sum(nil))
	s.tree.entries = append(s.tree.entries, e)
	return nil
}

func (s *scanner) dest(name string) string { return filepath.Join(s.into, filepath.FromSlash(name)) }

// shown makes a file's name fit for a message.
func shown(name string) string { return `"` + visible.Clean(name, 100) + `"` }

// maxLinks is the maximum number of links on a path, as on Linux.
const maxLinks = 40

// markOutside marks the links that lead out of the tree. It uses only the tree, so later changes of the file system do not matter.
func (t *Tree) markOutside() {
	links := map[string]string{}
	for _, e := range t.entries {
		if e.kind == kindLink {
			links[e.path] = e.target
		}
	}
	for i := range t.entries {
		if e := &t.entries[i]; e.kind == kindLink && !staysInside(links, e.path) {
			e.kind = kindOut
		}
	}
}

// staysInside follows a path through the links of a tree. A dangling path stays inside, a cyclic one does not.
func staysInside(links map[string]string, name string) bool {
	at, rest := ".", strings.Split(name, "/")
	for followed := 0; len(rest) > 0; {
		segment := rest[0]
		rest = rest[1:]
		switch segment {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return false
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, segment)
		target, isLink := links[next]
		if !isLink {
			at = next
			continue
		}
		if followed++; followed > maxLinks || rooted(target) {
			return false
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return true
}

// rooted reports a target that does not start at its link: an absolute path of any system.
func rooted(target string) bool {
	return strings.HasPrefix(target, "/") || strings.HasPrefix(target, `\`) || len(target) > 1 && target[1] == ':'
}

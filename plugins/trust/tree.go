package trust

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/archive"
)

// ErrChanged is returned for content that differs from its digest.
var ErrChanged = errors.New("has changed")

// Digest identifies approved content: "sha256:" and 64 hexadecimal digits. Empty means unknown.
type Digest string

func sum(data []byte) Digest {
	return Digest(fmt.Sprintf("sha256:%x", sha256.Sum256(data)))
}

// Short returns the first digits, for display.
func (d Digest) Short() string { return d.hex()[:min(12, len(d.hex()))] }

func (d Digest) hex() string { return strings.TrimPrefix(string(d), "sha256:") }

// Valid reports whether d is a digest. Check it before using d in a path.
func (d Digest) Valid() bool {
	return strings.HasPrefix(string(d), "sha256:") && len(d.hex()) == 2*sha256.Size && strings.Trim(d.hex(), "0123456789abcdef") == ""
}

// maxBytes limits a single file, as package archive limits all files of a package.
const maxBytes = 512 << 20

// Tree is the content of a package or a single file.
type Tree struct {
	single  bool
	entries []archive.Entry // by name; the name of a single file is fixed
	leftOut []string        // for a copy: links that lead out of the package, with the reason; not part of the content
}

// Digest returns the digest of the tree. It covers every path, content, executable bit and link target; no two trees share it.
func (t *Tree) Digest() Digest { return sum(t.index()) }

// index lists the tree, one entry per line. Names are quoted and sizes included, so that different trees have different indexes.
func (t *Tree) index() []byte {
	var b bytes.Buffer
	b.WriteString("tenon package 1\n")
	if t.single {
		b.Reset()
		b.WriteString("tenon file 1\n")
	}
	for _, e := range t.entries {
		mode := "-"
		if e.Exec {
			mode = "x"
		}
		fmt.Fprintf(&b, "%s %s %d %s %s %s\n", e.Kind, mode, e.Size, e.Sum, strconv.QuoteToASCII(e.Name), strconv.QuoteToASCII(e.Target))
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
		e := archive.Entry{Kind: archive.Kind(f[0]), Exec: f[1] == "x", Sum: f[3]}
		name, _ := strconv.QuotedPrefix(f[4]) // valid, because index wrote it
		e.Size, _ = strconv.ParseInt(f[2], 10, 64)
		e.Name, _ = strconv.Unquote(name)
		e.Target, _ = strconv.Unquote(strings.TrimSpace(f[4][len(name):]))
		t.entries = append(t.entries, e)
	}
	return t
}

// ReadTree reads the package or the file at path, following links in path. Directories .git are not part of a package. Errors wrap
// archive.ErrUnsafe, or are those of the file system and of ctx.
func ReadTree(ctx context.Context, path string) (*Tree, error) {
	real, single, err := located(path)
	if err != nil {
		return nil, err
	}
	t := &Tree{single: single}
	if single {
		return t, t.readFile(real, io.Discard)
	}
	content, err := archive.Directory{Path: real}.Check(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.entries = content.Entries()
	return t, nil
}

// located returns a path with its links resolved, and whether it is a single file.
func located(path string) (real string, single bool, err error) {
	if real, err = filepath.EvalSymlinks(path); err != nil {
		return "", false, err
	}
	info, err := os.Stat(real)
	return real, err == nil && !info.IsDir(), err
}

// readFile reads a tree of one file, whose path has its links resolved, and copies the file to w. Its name in the tree is its kind, not
// the name of the file.
func (t *Tree) readFile(path string, w io.Writer) error {
	f, info, err := projectfs.OpenRegular(path)
	if errors.Is(err, projectfs.ErrSpecial) {
		return fmt.Errorf("%s: %w: %w; a plugin is a file or a directory", path, archive.ErrUnsafe, err)
	}
	if err != nil {
		return err
	}
	defer f.Close() // only read
	h := sha256.New()
	e := archive.Entry{Kind: archive.KindFile, Name: singleName(path), Exec: info.Mode()&0o111 != 0}
	if e.Size, err = io.Copy(io.MultiWriter(h, w), io.LimitReader(f, maxBytes+1)); err != nil {
		return err
	}
	if e.Size > maxBytes {
		return fmt.Errorf("%s: %w: more than %d MiB", path, archive.ErrUnsafe, maxBytes>>20)
	}
	e.Sum = hex.EncodeToString(h.Sum(nil))
	t.entries = []archive.Entry{e}
	return nil
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

package snapshot

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the name that git gives a content, not a proof of it
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// Kinds of files, as git writes them into the mode of an entry.
const (
	kindMask = 0o170000
	kindFile = 0o100000
	kindLink = 0o120000
	kindDir  = 0o040000
)

// Entry is the state of a file: its kind and permissions, and the name of its content. A zero mode means that the file did not exist. A
// directory has no content: it is empty, or occupies the path of a file.
type Entry struct {
	Mode uint32 `json:"mode,omitempty"`
	Hash string `json:"hash,omitempty"`
	// Above is the number of missing directories above a missing file. They are removed with the file.
	Above int `json:"above,omitempty"`
}

// Exists reports whether there was a file.
func (e Entry) Exists() bool { return e.Mode != 0 }

// Link reports whether the file was a symbolic link; its content is its target.
func (e Entry) Link() bool { return e.kind() == kindLink }

// Directory reports whether there was a directory.
func (e Entry) Directory() bool { return e.kind() == kindDir }

// Same reports whether both have the same kind, the same content and, if they are files, the same permissions.
func (e Entry) Same(o Entry) bool {
	return e.Hash == o.Hash && e.kind() == o.kind() && (e.kind() != kindFile || e.Mode == o.Mode)
}

func (e Entry) kind() uint32 { return e.Mode & kindMask }

// SamePermissions reports whether both are files with the same permissions.
func (e Entry) SamePermissions(o Entry) bool { return e.kind() == kindFile && e.Mode == o.Mode }

// WithPermissionsOf returns the entry with the permissions of another one, if both are files.
func (e Entry) WithPermissionsOf(o Entry) Entry {
	if e.kind() == kindFile && o.kind() == kindFile {
		e.Mode = o.Mode
	}
	return e
}

// Path names a file: relative to the project with slashes, or absolute outside of it. Bytes that are not UTF-8 survive JSON: each
// is written as \x and two digits, and a backslash is doubled.
type Path string

// MarshalText writes the path.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// String returns the path as valid UTF-8.
func (p Path) String() string {
	var b strings.Builder
	for rest := string(p); rest != ""; {
		c, size := utf8.DecodeRuneInString(rest)
		switch {
		case c == '\\':
			b.WriteString(`\\`)
		case c == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, rest[0])
		default:
			b.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	return b.String()
}

// UnmarshalText reads a path.
func (p *Path) UnmarshalText(text []byte) error {
	var out []byte
	for rest := string(text); rest != ""; {
		c, tail := rest[0], rest[1:]
		if c == '\\' {
			escaped, other, after, err := strconv.UnquoteChar(rest, 0)
			if err != nil || other {
				return fmt.Errorf(`path %q: a backslash must be followed by another one or by x and two digits`, text)
			}
			c, tail = byte(escaped), after
		}
		out, rest = append(out, c), tail
	}
	*p = Path(out)
	return nil
}

// Abs returns the absolute name of a file.
func (r *Repo) Abs(p Path) string {
	if name := filepath.FromSlash(string(p)); !filepath.IsAbs(name) {
		return filepath.Join(r.worktree, name)
	}
	return filepath.FromSlash(string(p))
}

// PathOf returns the path of a file by its absolute name, with symbolic links in it resolved.
func (r *Repo) PathOf(name string) Path {
	name = projectfs.Real(name)
	if rel, err := filepath.Rel(r.worktree, name); err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	return Path(filepath.ToSlash(name))
}

// Look returns the current state of a file without keeping it; for a directory, only the kind.
func (r *Repo) Look(p Path) (Entry, error) { return r.read(p, nil) }

// Record stores the current state of a file. Errors: ErrOff for a file larger than MaxRecord.
func (r *Repo) Record(p Path) (Entry, error) { return r.read(p, r.keep) }

func (r *Repo) read(p Path, keep func(kind, hash string, content []byte) error) (Entry, error) {
	name := r.Abs(p)
	info, err := os.Lstat(name)
	var content []byte
	var e Entry
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		if info.Size() > r.limits.MaxRecord {
			return Entry{}, fmt.Errorf("%w for %s: it has more than %d bytes", ErrOff, p, r.limits.MaxRecord)
		}
		content, err = readFile(name, info.Size(), r.limits.MaxRecord)
		e.Mode = kindFile | unixMode(info)
	case info.Mode()&os.ModeSymlink != 0:
		var target string
		target, err = os.Readlink(name)
		content, e.Mode = []byte(target), kindLink
	default:
		return Entry{Mode: kindDir}, nil
	}
	if isMissing(err) {
		return Entry{Above: r.missingAbove(name)}, nil
	}
	if err != nil {
		return Entry{}, err
	}
	if e.Hash = hashOf(objectBlob, content); keep != nil {
		err = keep(objectBlob, e.Hash, content)
	}
	return e, err
}

// missingAbove counts the missing directories above a file.
func (r *Repo) missingAbove(name string) int {
	n := 0
	for dir := filepath.Dir(name); dir != r.worktree && filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			break
		}
		n++
	}
	return n
}

// isMissing reports whether the file does not exist, even because a file is in place of a directory above it.
func isMissing(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// ignoreMissing returns the error, or nil if the file does not exist.
func ignoreMissing(err error) error {
	if isMissing(err) {
		return nil
	}
	return err
}

// unixMode returns the permissions of a file in the bits of Unix.
func unixMode(info os.FileInfo) uint32 {
	mode := uint32(info.Mode().Perm())
	for _, b := range specialBits {
		if info.Mode()&b.mode != 0 {
			mode |= b.unix
		}
	}
	return mode
}

// fileMode is the reverse of unixMode.
func fileMode(mode uint32) os.FileMode {
	out := os.FileMode(mode & 0o777)
	for _, b := range specialBits {
		if mode&b.unix != 0 {
			out |= b.mode
		}
	}
	return out
}

// specialBits are the permissions that os keeps in other bits than Unix.
var specialBits = [...]struct {
	unix uint32
	mode os.FileMode
}{{0o4000, os.ModeSetuid}, {0o2000, os.ModeSetgid}, {0o1000, os.ModeSticky}}

// Kinds of git's objects.
const (
	objectBlob = "blob"
	objectTree = "tree"
)

// hashOf returns git's name of an object.
func hashOf(kind string, content []byte) string {
	h := sha1.New() //nolint:gosec // as above
	fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// keep stores an object under its hash, like a loose object of git.
func (r *Repo) keep(kind, hash string, content []byte) error {
	name := filepath.Join(r.dir, "objects", hash[:2], hash[2:])
	if now := time.Now(); os.Chtimes(name, now, now) == nil { // it exists, and its age now starts again
		return nil
	}
	var b bytes.Buffer
	z, _ := r.packers.Get().(*zlib.Writer) // it is large
	if z == nil {
		var err error
		if z, err = zlib.NewWriterLevel(&b, zlib.BestSpeed); err != nil {
			return err
		}
	}
	defer r.packers.Put(z)
	z.Reset(&b)
	fmt.Fprintf(z, "%s %d\x00", kind, len(content))
	z.Write(content) // into memory
	if err := z.Close(); err != nil {
		return err
	}
	// git's own clean-up removes files with such names.
	return atomicfile.Write(name, b.Bytes(), atomicfile.Options{Mode: 0o400, MakeDirs: 0o700, Temp: "tmp_obj_" + rand.Text()})
}

// Keep stores a content and returns its name.
func (r *Repo) Keep(content []byte) (string, error) {
	hash := hashOf(objectBlob, content)
	return hash, r.keep(objectBlob, hash, content)
}

// Contents returns contents by their names, except for empty names. Errors: ErrGone.
func (r *Repo) Contents(ctx context.Context, hashes []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	hashes = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(hashes))), func(hash string) bool { return hash == "" })
	if len(hashes) == 0 {
		return out, nil
	}
	if _, err := os.Stat(r.description()); err != nil { // no state was taken here yet, only files recorded
		if err := r.exclusive(ctx, func() error { return nil }); err != nil {
			return nil, err
		}
	}
	in := []byte(strings.Join(hashes, "\n") + "\n")
	answer, err := r.run(ctx, in, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(answer)
	for _, hash := range hashes {
		head, err := b.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("git cat-file: %w", err)
		}
		fields := strings.Fields(head)
		if len(fields) != 3 || fields[1] != "blob" {
			return nil, fmt.Errorf("%w: %.12s; states are kept for %d days", ErrGone, hash, int(r.limits.KeepFor.Hours()/24))
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil || size < 0 || size >= b.Len() {
			return nil, fmt.Errorf("git cat-file: %w", io.ErrUnexpectedEOF)
		}
		out[hash] = bytes.Clone(b.Next(size))
		b.Next(1) // the line's end
	}
	return out, nil
}

// Name returns the absolute name of a file, for users and JSON: as valid UTF-8.
func (r *Repo) Name(p Path) string { return Path(r.Abs(p)).String() }

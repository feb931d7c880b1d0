package snapshot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

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

// Name returns the absolute name of a file, for users and JSON: as valid UTF-8.
func (r *Repo) Name(p Path) string { return Path(r.Abs(p)).String() }

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
	var is stamp
	var content []byte
	info, err := os.Lstat(name)
	if err == nil {
		if is = stampOf(info); is.kind() != kindFile && is.kind() != kindLink {
			return Entry{Mode: kindDir}, nil
		}
		content, err = readEntry(name, is, r.limits.MaxRecord)
	}
	if isMissing(err) {
		return Entry{Above: r.missingAbove(name)}, nil
	}
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Mode: is.Mode, Hash: hashOf(objectBlob, content)}
	if is.kind() == kindLink {
		e.Mode = kindLink
	}
	if keep != nil {
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

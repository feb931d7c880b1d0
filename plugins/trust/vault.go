package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/archive"
)

// Names inside of a vault.
const (
	indexFile = "index" // the index that the digest covers
	filesDir  = "files" // the copy
	tempStart = ".new-"
	unused    = "unused" // marks a copy that is not used since the directory was last modified
)

// collectAfter is the time for which Collect keeps a copy that is no longer used: another tenon may still run it.
const collectAfter = 24 * time.Hour

// Vault keeps sealed copies of approved content, by digest. Copies are never modified. Safe for use from many goroutines and processes.
type Vault struct {
	dir    string
	stamps *stamps
}

// Sealed is a copy of approved content.
type Sealed struct {
	Digest Digest
	Root   string // the directory of the copy, absolute, links resolved
	tree   *Tree
}

// NewVault returns a vault without accessing files. It keeps the copies in dir, which it makes with mode 0700 on first use, and caches digests of
// unchanged trees in cacheDir, unless that is empty.
func NewVault(dir, cacheDir string) *Vault {
	v := &Vault{dir: dir, stamps: &stamps{now: time.Now}}
	if cacheDir != "" {
		v.stamps.file = filepath.Join(cacheDir, "digests-2.json")
	}
	return v
}

// Save caches the digests for the next start. An error only makes that start slower.
func (v *Vault) Save() error { return v.stamps.save() }

// Digest returns the digest of the package or the file at path. A tree whose files did not change since it was last read is not read
// again. Errors are those of ReadTree.
func (v *Vault) Digest(ctx context.Context, path string) (Digest, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	before, newest, unstamped := stampTree(real)
	if d, ok := v.stamps.lookup(real, before); ok && unstamped == nil {
		return d, nil
	}
	t, err := ReadTree(ctx, path)
	if err != nil {
		return "", err
	}
	d := t.Digest()
	after, _, err := stampTree(real)
	if errors.Join(unstamped, err) == nil && after == before && v.stamps.now().Sub(newest) > settled {
		v.stamps.remember(real, after, d)
	}
	return d, nil
}

// Seal copies the package or the file at path, unless the copy exists, and returns it. If its digest is not want, or it changes during the copy, the
// error wraps ErrChanged.
func (v *Vault) Seal(ctx context.Context, path string, want Digest) (*Sealed, error) {
	s, err := v.Open(ctx, want)
	if err == nil {
		return s, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		if err := v.Remove(want); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(v.dir, tempStart)
	if err != nil {
		return nil, err
	}
	if err := v.fill(ctx, temp, path, want); err != nil {
		return nil, errors.Join(err, child.RemoveAll(temp))
	}
	if err := os.Rename(temp, v.place(want)); err != nil {
		// Another process was faster. Its copy is used instead, and Open checks it.
		if _, missing := os.Lstat(v.place(want)); missing != nil {
			return nil, errors.Join(err, child.RemoveAll(temp))
		}
		if err := child.RemoveAll(temp); err != nil {
			return nil, err
		}
	}
	return v.Open(ctx, want)
}

// fill makes the copy in temp.
func (v *Vault) fill(ctx context.Context, temp, path string, want Digest) error {
	files := filepath.Join(temp, filesDir)
	if err := os.Mkdir(files, 0o700); err != nil {
		return err
	}
	t, err := copyTree(ctx, path, files)
	if err != nil {
		return err
	}
	if d := t.Digest(); d != want {
		return fmt.Errorf("%s: %w: its digest is %s, but %s was approved; review the change, then approve it again", path, ErrChanged, d.Short(), want.Short())
	}
	if err := os.WriteFile(filepath.Join(temp, indexFile), t.index(), 0o400); err != nil {
		return err
	}
	if err := (&Sealed{Root: files}).KeepLeftOut(t.leftOut); err != nil {
		return err
	}
	for _, e := range t.entries {
		mode := fs.FileMode(0o500)
		switch {
		case e.Kind == archive.KindLink:
			continue
		case e.Kind == archive.KindFile && !e.Exec:
			mode = 0o400
		}
		if err := os.Chmod(filepath.Join(files, filepath.FromSlash(e.Name)), mode); err != nil {
			return err
		}
	}
	return os.Chmod(files, 0o500)
}

// copyTree copies the package or the file at path to the directory into, and returns its tree. Seal checks the copy against it.
func copyTree(ctx context.Context, path, into string) (*Tree, error) {
	real, single, err := located(path)
	if err != nil {
		return nil, err
	}
	if single {
		to, err := os.OpenFile(filepath.Join(into, singleName(real)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		t := &Tree{single: true}
		return t, errors.Join(t.readFile(real, to), to.Close())
	}
	content, err := archive.Directory{Path: real}.Extract(ctx, into)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Tree{entries: content.Entries(), leftOut: content.LeftOut}, nil
}

// Open returns an existing copy after checking it against its digest; fs.ErrNotExist without a copy, ErrChanged if the copy was changed.
func (v *Vault) Open(ctx context.Context, d Digest) (*Sealed, error) {
	place := v.place(d)
	index, err := os.ReadFile(filepath.Join(place, indexFile))
	if err != nil {
		return nil, err
	}
	broken := fmt.Errorf("%s: %w since it was sealed", place, ErrChanged)
	if sum(index) != d {
		return nil, broken
	}
	s := &Sealed{Digest: d, Root: filepath.Join(place, filesDir), tree: parseIndex(index)}
	stamp, err := stampCopy(s.Root, s.tree.entries)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %v", broken, err) // not fs.ErrNotExist, for which Seal would not remove the copy
	}
	if err != nil {
		return nil, err
	}
	if known, ok := v.stamps.lookup(s.Root, stamp); ok && known == d {
		return s, nil
	}
	if err := v.verify(ctx, s); err != nil {
		return nil, fmt.Errorf("%w: %w", broken, err)
	}
	v.stamps.remember(s.Root, stamp, d)
	return s, nil
}

// Verify compares the content of a copy with its digest, even if its stamp did not change. Errors are those of Open.
func (v *Vault) Verify(ctx context.Context, d Digest) error {
	v.stamps.forget(filepath.Join(v.place(d), filesDir))
	_, err := v.Open(ctx, d)
	return err
}

// verify reads a whole copy and compares it with its index.
func (v *Vault) verify(ctx context.Context, s *Sealed) error {
	t, err := ReadTree(ctx, s.Root)
	if err != nil {
		return err
	}
	found := -1 // -1, because the directory itself does not count
	err = filepath.WalkDir(s.Root, func(_ string, _ fs.DirEntry, err error) error {
		found++
		return err
	})
	if err == nil && (!slices.Equal(t.entries, s.tree.entries) || found != len(t.entries)) { // ReadTree leaves out links that lead out, and .git
		err = errors.New("its files differ from its index")
	}
	return err
}

// File returns the path of a copy that is a single file; "" when it is a package.
func (s *Sealed) File() string {
	if !s.tree.single {
		return ""
	}
	return filepath.Join(s.Root, s.tree.entries[0].Name)
}

// Sum returns the SHA-256 of a file of the copy, 64 hexadecimal digits, by its absolute path with links resolved.
func (s *Sealed) Sum(path string) (string, bool) {
	rel, err := filepath.Rel(s.Root, path)
	if err != nil {
		return "", false
	}
	rel = filepath.ToSlash(rel)
	for _, e := range s.tree.entries {
		if e.Name == rel && e.Kind == archive.KindFile {
			return e.Sum, true
		}
	}
	return "", false
}

// Keep stores data about the copy next to it, under a name, as long as the copy exists.
func (s *Sealed) Keep(name string, data []byte) error {
	return atomicfile.Write(filepath.Join(filepath.Dir(s.Root), name), data, atomicfile.Options{})
}

// Kept returns the data of Keep; fs.ErrNotExist without any.
func (s *Sealed) Kept(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(filepath.Dir(s.Root), name))
}

// leftOutFile lists the parts of a package that were left out when it was unpacked, one per line. It is outside the copy, so the digest
// does not depend on it.
const leftOutFile = "left-out"

// KeepLeftOut stores the parts that were left out before the copy was made, with the reasons, without line feeds.
func (s *Sealed) KeepLeftOut(lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	return s.Keep(leftOutFile, []byte(strings.Join(lines, "\n")+"\n"))
}

// LeftOut returns the parts that KeepLeftOut stored.
func (s *Sealed) LeftOut() []string {
	data, err := s.Kept(leftOutFile)
	if err != nil {
		return nil // most copies have none
	}
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
}

// signerFile holds the signer whose signature this machine checked. It is outside the copy, so the digest does not depend on it.
const signerFile = "signer"

// KeepSigner stores that this machine checked the signature of a signer before the copy was made. An empty signer stores nothing.
func (s *Sealed) KeepSigner(signer string) error {
	if signer == "" {
		return nil
	}
	return s.Keep(signerFile, []byte(signer))
}

// Signer returns the signer that KeepSigner stored last; empty without one.
func (s *Sealed) Signer() string {
	signer, _ := s.Kept(signerFile) // most copies have none
	return string(signer)
}

// place returns the path of the copy with a digest, with links resolved.
func (v *Vault) place(d Digest) string { return filepath.Join(projectfs.Real(v.dir), d.hex()) }

// Remove deletes a copy. A missing copy is not an error.
func (v *Vault) Remove(d Digest) error {
	if !d.Valid() {
		return fmt.Errorf("invalid digest %q", d)
	}
	v.stamps.forget(filepath.Join(v.place(d), filesDir))
	return child.RemoveAll(v.place(d))
}

// Collect deletes the copies for which keep has returned false for a day: another tenon may still run the others.
func (v *Vault) Collect(keep func(Digest) bool) error {
	list, err := os.ReadDir(v.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var problems []error
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			continue // it no longer exists
		}
		place := filepath.Join(v.dir, e.Name())
		if d := Digest("sha256:" + e.Name()); d.Valid() { // invalid for an unfinished copy
			mark := filepath.Join(place, unused)
			if keep(d) {
				_ = os.Remove(mark) // usually there is none
				continue
			}
			if f, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				_ = f.Close() // nothing was written
				continue
			}
		}
		if v.stamps.now().Sub(info.ModTime()) >= collectAfter {
			problems = append(problems, child.RemoveAll(place))
		}
	}
	return errors.Join(append(problems, err)...)
}

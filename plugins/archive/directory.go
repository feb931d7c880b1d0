package archive

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// Directory is a directory of this machine. A .git in it does not belong to its content, and a link to an absolute path in it counts as a
// relative one.
type Directory struct {
	Path string
	// Without reports whether a file, by its path in the directory, does not belong to the content. If nil, all files do.
	Without func(name string) bool
}

// Extract checks the directory and copies it to the directory dir, which must be empty: the copy is the same as after Pack and
// File.Extract. Errors: ErrUnsafe, and those of the file system.
func (d Directory) Extract(ctx context.Context, dir string) (*Content, error) {
	return extract(ctx, d, dir, false)
}

// Check checks the directory as Extract does, and writes nothing.
func (d Directory) Check(ctx context.Context) (*Content, error) { return check(ctx, d, false) }

// each visits the entries by name, each directory before its content.
func (d Directory) each(ctx context.Context, visit visitor) error {
	real, err := filepath.EvalSymlinks(d.Path)
	if err != nil {
		return err
	}
	root, err := projectfs.OpenDir([]string{real}, real)
	if err != nil {
		return err
	}
	defer root.Close() // only read
	return root.Walk(ctx, func(in *projectfs.Dir, name string, found fs.DirEntry) error {
		e := Entry{Name: name, Kind: KindFile}
		switch {
		case strings.EqualFold(found.Name(), ".git"):
			return fs.SkipDir
		case found.IsDir():
			e.Kind = KindDir
		case found.Type()&fs.ModeSymlink != 0:
			target, err := in.Readlink(found.Name())
			if err != nil {
				return err
			}
			e.Kind, e.Target = KindLink, Relative(real, name, target)
		case !found.Type().IsRegular():
			return unsafe(name, "a plugin consists of files, directories and links")
		case d.Without != nil && d.Without(name):
			return nil
		default:
			file, info, err := in.Open(found.Name())
			if err != nil {
				return err
			}
			defer file.Close() // only read
			e.Exec, e.Size = info.Mode()&0o111 != 0, info.Size()
			return visit(e, file)
		}
		return visit(e, strings.NewReader(""))
	})
}

// Relative returns the target of a link in the directory root, whose path has no links. Links on the way to the target are followed: the
// meaning of .. after a link depends on the file system. An absolute path in the directory becomes relative, so that it is valid in a copy.
func Relative(root, name, target string) string {
	from := filepath.Join(root, filepath.FromSlash(path.Dir(name)))
	full := target
	if !filepath.IsAbs(target) {
		full = from + string(filepath.Separator) + target // not cleaned, because that would drop .. after a link
	}
	real := filepath.Clean(full)
	dir, base := filepath.Split(full)
	if found, err := filepath.EvalSymlinks(dir); err == nil { // otherwise the target does not exist
		real = filepath.Join(found, base)
	}
	if full != target && real == filepath.Clean(full) {
		return filepath.ToSlash(target) // unchanged
	}
	if rel, err := filepath.Rel(from, real); err == nil && projectfs.Inside(root, real) {
		target = rel
	}
	return filepath.ToSlash(target)
}

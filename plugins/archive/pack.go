package archive

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Pack writes the files below dir as a .tar.gz, in a folder of this name. The same files have the same bytes: the archive has no times, owners
// or other modes than 0644 and 0755. A .git directory is left out. Extract reads the result.
func Pack(ctx context.Context, w io.Writer, dir, folder string) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || path == dir {
			return err
		}
		if strings.EqualFold(d.Name(), ".git") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return packEntry(t, path, folder+"/"+filepath.ToSlash(rel), d)
	})
	return errors.Join(err, t.Close(), z.Close())
}

func packEntry(t *tar.Writer, path, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	h := &tar.Header{Name: name, Mode: 0o644}
	switch {
	case info.IsDir():
		h.Typeflag, h.Mode, h.Name = tar.TypeDir, 0o755, name+"/"
	case info.Mode()&fs.ModeSymlink != 0:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = os.Readlink(path); err != nil {
			return err
		}
		h.Linkname = filepath.ToSlash(h.Linkname)
	case info.Mode().IsRegular():
		h.Typeflag, h.Size = tar.TypeReg, info.Size()
		if info.Mode()&0o111 != 0 {
			h.Mode = 0o755
		}
	default:
		return fmt.Errorf("%s: a plugin consists of files, directories and links", path)
	}
	if err := t.WriteHeader(h); err != nil || h.Typeflag != tar.TypeReg {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(t, file)
	return err
}

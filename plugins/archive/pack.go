package archive

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
)

// Pack writes the files of d as a .tar.gz, in a folder of this name. The same files have the same bytes: the archive has no times, owners
// or other modes than 0644 and 0755. A .git directory is left out. Extract reads the result. Errors: ErrUnsafe for files that Extract
// would refuse, and those of the file system.
func Pack(ctx context.Context, w io.Writer, d Directory, folder string) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t, c := tar.NewWriter(z), newChecker()
	err = d.each(ctx, func(e entry, content io.Reader) error {
		e.name = folder + "/" + e.name
		if err := c.add(e); err != nil {
			return err
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: 0o644, Size: e.size}
		switch {
		case e.kind == kindDir:
			h.Typeflag, h.Mode, h.Name = tar.TypeDir, 0o755, h.Name+"/"
		case e.kind == kindLink:
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.target
		case e.exec:
			h.Mode = 0o755
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err := io.Copy(io.MultiWriter(t, c), content)
		return err
	})
	if err == nil {
		_, err = c.content(true)
	}
	return errors.Join(err, t.Close(), z.Close())
}

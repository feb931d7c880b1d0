package archive

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
)

// Pack writes the files of d as a .tar.gz, in a folder of this name. The same files have the same bytes: the archive has no times, owners
// or other modes than 0644 and 0755. A .git directory is left out. Extract reads the result.
func Pack(ctx context.Context, w io.Writer, d Directory, folder string) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	err = d.each(ctx, func(e entry, content io.Reader) error {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: folder + "/" + e.name, Mode: 0o644, Size: e.size}
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
		_, err := io.Copy(t, content)
		return err
	})
	return errors.Join(err, t.Close(), z.Close())
}

package archive

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// overhead limits the headers of one entry in the uncompressed stream, in bytes: three blocks of a header, its name and its
// padding.
const overhead = 8 << 10

type tarFile struct{ *File }

// each reads the whole stream. After the tar's end mark only zeros may follow, and after the gzip member nothing.
func (f tarFile) each(ctx context.Context, visit visitor) error {
	input := bufio.NewReaderSize(io.NewSectionReader(f.Data, 0, f.Size), 64<<10)
	unzip, err := gzip.NewReader(input)
	if err != nil {
		return fmt.Errorf("%w: not a gzip file: %w", ErrUnsafe, err)
	}
	unzip.Multistream(false)
	stream := &io.LimitedReader{R: unzip, N: maxBytes + maxEntries*overhead}
	err = entries(ctx, tar.NewReader(stream), visit)
	if err == nil {
		_, err = io.Copy(padding{}, stream)
	}
	switch {
	case stream.N <= 0:
		return fmt.Errorf("%w: too large when unpacked", ErrUnsafe)
	case err != nil:
		return broken(err)
	}
	if _, err := input.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: data after the end of the gzip stream", ErrUnsafe)
	}
	return nil
}

func entries(ctx context.Context, t *tar.Reader, visit visitor) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		e, err := tarEntry(h)
		if err == nil {
			err = visit(e, t)
		}
		if err != nil {
			return err
		}
	}
}

// broken marks the errors of an archive's reader. Errors of the file system are not changed.
func broken(err error) error {
	corrupt := flate.CorruptInputError(0)
	if errors.As(err, &corrupt) || errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) ||
		errors.Is(err, gzip.ErrHeader) || errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrFormat) {
		return fmt.Errorf("%w: %w", ErrUnsafe, err)
	}
	return err
}

// tarEntry returns the entry of a header. For a header that applies to all files, it returns the empty
// entry, which is the root.
func tarEntry(h *tar.Header) (e Entry, err error) {
	if h.Typeflag == tar.TypeXGlobalHeader {
		for key := range h.PAXRecords {
			if key != "comment" { // git archive writes the commit into it
				return e, fmt.Errorf("%w: a global header sets %s for all files", ErrUnsafe, shown(key))
			}
		}
		return e, nil
	}
	e = Entry{Name: h.Name, Kind: KindFile, Size: h.Size, Exec: h.Mode&0o111 != 0}
	for key, value := range h.PAXRecords {
		switch {
		case strings.HasPrefix(key, "GNU.sparse."):
			return e, unsafe(h.Name, "a sparse file")
		case key == "path" && value != "" && value != h.Name, key == "linkpath" && value != "" && value != h.Linkname:
			return e, unsafe(h.Name, "it is also named %s; some programs use that name", shown(value)) // a long name of GNU replaced it
		}
	}
	switch h.Typeflag {
	case tar.TypeReg:
		return e, nil
	case tar.TypeDir:
		e.Kind = KindDir
	case tar.TypeSymlink:
		e.Kind, e.Target = KindLink, h.Linkname
	default:
		return e, unsafe(h.Name, "not a file, directory or symbolic link (type %q)", h.Typeflag)
	}
	if h.Size != 0 {
		return e, unsafe(h.Name, "a directory or link with content")
	}
	return e, nil
}

// padding accepts the zeros after the end mark of a tar.
type padding struct{}

// Write returns an error for anything but zeros.
func (padding) Write(p []byte) (int, error) {
	if len(bytes.Trim(p, "\x00")) > 0 {
		return 0, fmt.Errorf("%w: data after the end of the tar archive", ErrUnsafe)
	}
	return len(p), nil
}

// Pack writes the files of d as a .tar.gz, in a folder of this name. The same files give the same bytes: the archive has no times, no
// owners, and only the modes 0644 and 0755. A .git directory is left out. Extract reads the result. Errors: ErrUnsafe for files that
// Extract would refuse, and those of the file system.
func Pack(ctx context.Context, w io.Writer, d Directory, folder string) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t, c := tar.NewWriter(z), newChecker()
	err = d.each(ctx, func(e Entry, content io.Reader) error {
		e.Name = folder + "/" + e.Name
		if err := c.add(e); err != nil {
			return err
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.Name, Mode: 0o644, Size: e.Size}
		switch {
		case e.Kind == KindDir:
			h.Typeflag, h.Mode, h.Name = tar.TypeDir, 0o755, h.Name+"/"
		case e.Kind == KindLink:
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.Target
		case e.Exec:
			h.Mode = 0o755
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err := io.Copy(io.MultiWriter(t, c), content)
		return err
	})
	return errors.Join(err, t.Close(), z.Close())
}

package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// Format is the form of an archive.
type Format string

// The formats.
const (
	TarGzip Format = "tar.gz"
	Zip     Format = "zip"
)

// File is an archive on disk. Its bytes must not change while it is read.
type File struct {
	Format Format
	Data   io.ReaderAt
	Size   int64 // of Data, in bytes
}

// visitor receives each entry of an archive, with its content if it is a file. The content must be read before it returns.
type visitor func(e entry, content io.Reader) error

// source is something with entries, in the same order each time.
type source interface {
	each(ctx context.Context, visit visitor) error
}

// Extract checks the archive and writes it to the directory dir, which must be empty. One folder around everything is left out.
// If the archive is refused, the error wraps ErrUnsafe and nothing was written. Files get mode 0644 or 0755.
func (f *File) Extract(ctx context.Context, dir string) (*Content, error) {
	switch f.Format {
	case TarGzip:
		return extract(ctx, tarFile{f}, dir, true)
	case Zip:
		return extract(ctx, zipFile{f}, dir, true)
	}
	return nil, fmt.Errorf("unknown archive format %q", f.Format)
}

func extract(ctx context.Context, s source, dir string, cut bool) (*Content, error) {
	c := newChecker()
	buffer := make([]byte, 64<<10)
	err := s.each(ctx, func(e entry, content io.Reader) error {
		if err := c.add(e); err != nil || e.kind != kindFile {
			return err
		}
		n, err := io.CopyBuffer(c, content, buffer)
		if err == nil && n != e.size {
			err = unsafe(e.name, "%d bytes, its header says %d", n, e.size)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	checked, err := c.content(cut)
	if err != nil {
		return nil, err
	}
	return checked, checked.write(ctx, s, dir)
}

// write writes the checked entries, links last: nothing is written through a link.
func (c *Content) write(ctx context.Context, s source, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	err = s.each(ctx, func(e entry, content io.Reader) error {
		name, err := clean(e.name)
		name, ok := c.written(name)
		if err != nil || !ok || e.kind == kindLink {
			return err
		}
		if e.kind == kindDir {
			return root.MkdirAll(name, 0o755)
		}
		return writeFile(root, name, e, content)
	})
	if err != nil {
		return err
	}
	for _, e := range c.entries {
		if name, ok := c.written(e.name); ok && e.kind == kindLink {
			if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
				return err
			}
			if err := root.Symlink(e.target, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeFile(root *os.Root, name string, e entry, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if e.exec {
		mode = 0o755
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

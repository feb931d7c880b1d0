package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
type visitor func(e Entry, content io.Reader) error

// source provides entries, in the same order each time.
type source interface {
	each(ctx context.Context, visit visitor) error
}

// Extract checks the archive and writes it to the directory dir, which must be empty. A single top folder is left out. If the
// archive is refused, the error wraps ErrUnsafe and nothing was written. Files get mode 0644 or 0755.
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
	content, err := check(ctx, s, cut)
	if err != nil {
		return nil, err
	}
	return content, content.write(ctx, s, dir)
}

// check reads everything and writes nothing.
func check(ctx context.Context, s source, cut bool) (*Content, error) {
	c := newChecker()
	buffer := make([]byte, 64<<10)
	err := s.each(ctx, func(e Entry, content io.Reader) error {
		if err := c.add(e); err != nil || e.Kind != KindFile {
			return err
		}
		sum := sha256.New()
		n, err := io.CopyBuffer(io.MultiWriter(c, sum), content, buffer)
		if err == nil && n != e.Size {
			err = unsafe(e.Name, "%d bytes, its header says %d", n, e.Size)
		}
		c.found[len(c.found)-1].Sum = hex.EncodeToString(sum.Sum(nil))
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.content(cut)
}

// write writes the checked entries, links last: nothing is written through a link.
func (c *Content) write(ctx context.Context, s source, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	err = s.each(ctx, func(e Entry, content io.Reader) error {
		name, err := clean(e.Name)
		name, ok := c.written(name)
		if err != nil || !ok || e.Kind == KindLink {
			return err
		}
		if e.Kind == KindDir {
			return root.MkdirAll(name, 0o755)
		}
		return writeFile(root, name, e, content)
	})
	if err != nil {
		return err
	}
	for _, e := range c.entries {
		if name, ok := c.written(e.Name); ok && e.Kind == KindLink {
			if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
				return err
			}
			if err := root.Symlink(e.Target, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeFile(root *os.Root, name string, e Entry, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if e.Exec {
		mode = 0o755
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

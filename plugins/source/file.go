package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// File is one file of a source.
type File struct {
	Name   string // with slashes, relative to the root of the source; empty if the source is the file
	Data   []byte
	Commit string // of a repository
}

// File reads the first of the named files that the source contains: a path, a document behind an URL, or a repository. With a commit in
// the reference, it is that of this commit. Names do not matter for a document behind an URL and for a file of this machine. The error
// wraps fs.ErrNotExist if the source has none of them.
func (f *Fetcher) File(ctx context.Context, r Ref, maxBytes int, names ...string) (*File, error) {
	var out *File
	var err error
	switch r.Kind {
	case Path:
		out, err = localFile(r.URL, maxBytes, names)
	case Archive:
		out = &File{}
		out.Data, err = f.get(ctx, r.URL, nil, maxBytes)
	default: // Git
		out, err = f.gitFile(ctx, r, maxBytes, names)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	return out, nil
}

func localFile(root string, maxBytes int, names []string) (*File, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		names = []string{""}
	}
	for _, name := range names {
		data, err := projectfs.ReadRegular(filepath.Join(root, filepath.FromSlash(name)), int64(maxBytes))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return &File{Name: name, Data: data}, err
	}
	return nil, notFound(names)
}

func (f *Fetcher) gitFile(ctx context.Context, r Ref, maxBytes int, names []string) (*File, error) {
	repo, commit, err := f.commit(ctx, r, r.Commit)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		object := commit + ":" + path.Join(r.Subdir, name)
		size, err := f.runGit(ctx, repo, "cat-file", "-s", object)
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			continue // git has no distinct error for a missing file
		}
		if n, err := strconv.Atoi(strings.TrimSpace(string(size))); err != nil || n > maxBytes {
			return nil, fmt.Errorf("%s has more than %d KiB", name, maxBytes>>10)
		}
		data, err := f.runGit(ctx, repo, "cat-file", "blob", object)
		return &File{Name: name, Data: data, Commit: commit}, err
	}
	return nil, notFound(names)
}

func notFound(names []string) error {
	return fmt.Errorf("%w: none of %s", fs.ErrNotExist, strings.Join(names, ", "))
}

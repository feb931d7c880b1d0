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
// the reference, the file is from this commit. The names are ignored for a document behind an URL and for a file of this machine. The
// error wraps fs.ErrNotExist if the source has none of them.
func (f *Fetcher) File(ctx context.Context, r Ref, maxBytes int, names ...string) (*File, error) {
	f, release := f.connected()
	defer release()
	out, err := f.firstFile(ctx, r, maxBytes, names)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	return out, nil
}

func (f *Fetcher) firstFile(ctx context.Context, r Ref, maxBytes int, names []string) (*File, error) {
	commit := ""
	read := func(name string) ([]byte, error) {
		return projectfs.ReadRegular(filepath.Join(r.URL, filepath.FromSlash(name)), int64(maxBytes))
	}
	switch r.Kind {
	case Path:
		info, err := os.Stat(r.URL)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			names = []string{""}
		}
	case Archive:
		data, err := f.get(ctx, r.URL, nil, maxBytes)
		return &File{Data: data}, err
	default: // Git
		repo, found, err := f.commit(ctx, r, r.Commit)
		if err != nil {
			return nil, err
		}
		commit = found
		read = func(name string) ([]byte, error) {
			return f.gitFile(ctx, repo, commit+":"+path.Join(r.Subdir, name), maxBytes)
		}
	}
	for _, name := range names {
		if data, err := read(name); !errors.Is(err, fs.ErrNotExist) {
			return &File{Name: name, Data: data, Commit: commit}, err
		}
	}
	return nil, fmt.Errorf("%w: none of %s", fs.ErrNotExist, strings.Join(names, ", "))
}

func (f *Fetcher) gitFile(ctx context.Context, repo, object string, maxBytes int) ([]byte, error) {
	size, err := f.runGit(ctx, repo, "cat-file", "-s", object)
	if err != nil && ctx.Err() == nil {
		return nil, fs.ErrNotExist // git has no distinct error for a missing file
	}
	if n, _ := strconv.Atoi(strings.TrimSpace(string(size))); err == nil && n > maxBytes {
		err = fmt.Errorf("%s has more than %d KiB", object, maxBytes>>10)
	}
	if err != nil {
		return nil, err
	}
	return f.runGit(ctx, repo, "cat-file", "blob", object)
}

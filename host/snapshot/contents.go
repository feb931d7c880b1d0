package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// manyFiles is the number of files that are stored separately. More go into one pack, which is faster.
const manyFiles = 100

// doubt is a file whose content has to be read.
type doubt struct {
	path string
	file *entry
}

// contents reads the files in doubt and stores their new contents.
func (s *scan) contents(ctx context.Context, all []*visit) error {
	var list []doubt
	for _, v := range all {
		if v.new == nil {
			continue
		}
		for i := range v.new.Entries {
			if f := &v.new.Entries[i]; f.doubt {
				f.doubt = false
				list = append(list, doubt{v.path + f.Name, f})
			}
		}
	}
	s.read = len(list)
	list = s.limit(list)
	if len(list) > manyFiles {
		return s.r.pack(ctx, list)
	}
	return s.r.readAll(ctx, list, func(hash string, content []byte) error { return s.r.keep(objectBlob, hash, content) })
}

// readAll reads files in parallel and calls store for each new content.
func (r *Repo) readAll(ctx context.Context, list []doubt, store func(hash string, content []byte) error) error {
	return inParallel(ctx, len(list), func(i int) error {
		file := list[i].file
		content, ok := r.content(list[i].path, file)
		if !ok { // the next scan reads it again if it is small enough
			file.Hash, file.Settled = "", file.Settled && file.Stamp.Size > r.limits.MaxFile
			return nil
		}
		hash := hashOf(objectBlob, content)
		if hash == file.Hash {
			return nil
		}
		file.Hash = hash
		return store(hash, content)
	})
}

// limit leaves out the files beyond the number that one state may add. The next state looks at them again.
func (s *scan) limit(list []doubt) []doubt {
	room := s.r.limits.MaxFiles
	return slices.DeleteFunc(list, func(d doubt) bool {
		if d.file.Hash != "" {
			return false
		}
		room--
		d.file.Settled = d.file.Settled && room >= 0
		return room < 0
	})
}

// content reads a file. It returns false for a file that cannot be kept: too large, not readable, or deleted.
func (r *Repo) content(path string, f *entry) ([]byte, bool) {
	name := filepath.Join(r.worktree, filepath.FromSlash(path))
	if f.Stamp.kind() == kindLink {
		target, err := os.Readlink(name)
		return []byte(target), err == nil
	}
	if f.Stamp.Size > r.limits.MaxFile {
		return nil, false
	}
	content, err := readFile(name, f.Stamp.Size, r.limits.MaxFile)
	return content, err == nil
}

// readFile reads a regular file of about the size. It may grow meanwhile, or be replaced by a link or a pipe.
func readFile(name string, size, limit int64) ([]byte, error) {
	in, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	content := bytes.NewBuffer(make([]byte, 0, size+1))
	n, err := content.ReadFrom(io.LimitReader(in, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("%w for %s: it has more than %d bytes", ErrOff, name, limit)
	}
	return content.Bytes(), err
}

// pack stores the contents of many files with one git process, see https://git-scm.com/docs/git-fast-import.
func (r *Repo) pack(ctx context.Context, list []doubt) error {
	cmd := r.command(ctx, []string{"core.compression=1", "pack.compression=1"}, "fast-import", "--quiet", "--done", "--depth=0")
	var problem bytes.Buffer
	cmd.Stderr = &problem
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git fast-import: %w", err)
	}
	w := bufio.NewWriterSize(in, 1<<16)
	var mu sync.Mutex
	err = r.readAll(ctx, list, func(_ string, content []byte) error {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, "blob\ndata %d\n", len(content))
		w.Write(content)
		return w.WriteByte('\n') // the error of any of the three
	})
	if err == nil {
		w.WriteString("done\n") // the error stays, Flush returns it
	}
	err = errors.Join(err, w.Flush(), in.Close())
	if failed := cmd.Wait(); failed != nil {
		return fmt.Errorf("git fast-import: %w: %s", errors.Join(failed, ctx.Err()), bytes.TrimSpace(problem.Bytes()))
	}
	return err
}

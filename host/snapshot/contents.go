package snapshot

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the name that git gives a content, not a proof of it
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
)

// Kinds of git's objects.
const (
	objectBlob = "blob"
	objectTree = "tree"
)

// objectsDir is the directory of git's objects, below the git directory.
const objectsDir = "objects"

// hashOf returns git's name of an object.
func hashOf(kind string, content []byte) string {
	h := sha1.New() //nolint:gosec // as above
	fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// keep stores an object under its hash, like a loose object of git.
func (r *Repo) keep(kind, hash string, content []byte) error {
	name := filepath.Join(r.dir, objectsDir, hash[:2], hash[2:])
	if now := time.Now(); os.Chtimes(name, now, now) == nil { // it exists, and its age now starts again
		return nil
	}
	var b bytes.Buffer
	z, _ := r.packers.Get().(*zlib.Writer) // it is large
	if z == nil {
		var err error
		if z, err = zlib.NewWriterLevel(&b, zlib.BestSpeed); err != nil {
			return err
		}
	}
	defer r.packers.Put(z)
	z.Reset(&b)
	fmt.Fprintf(z, "%s %d\x00", kind, len(content))
	z.Write(content) // into memory
	if err := z.Close(); err != nil {
		return err
	}
	// git's own clean-up removes files with such names.
	return atomicfile.Write(name, b.Bytes(), atomicfile.Options{Mode: 0o400, MakeDirs: 0o700, Temp: "tmp_obj_" + rand.Text()})
}

// Keep stores a content and returns its name.
func (r *Repo) Keep(content []byte) (string, error) {
	hash := hashOf(objectBlob, content)
	return hash, r.keep(objectBlob, hash, content)
}

// Contents returns contents by their names, except for empty names. Errors: ErrGone.
func (r *Repo) Contents(ctx context.Context, hashes []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	hashes = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(hashes))), func(hash string) bool { return hash == "" })
	if len(hashes) == 0 {
		return out, nil
	}
	if _, err := os.Stat(r.description()); err != nil { // no state was taken here yet, only files recorded
		if err := r.exclusive(ctx, func() error { return nil }); err != nil {
			return nil, err
		}
	}
	in := []byte(strings.Join(hashes, "\n") + "\n")
	answer, err := r.run(ctx, in, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(answer)
	for _, hash := range hashes {
		head, err := b.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("git cat-file: %w", err)
		}
		fields := strings.Fields(head)
		if len(fields) != 3 || fields[1] != "blob" {
			return nil, fmt.Errorf("%w: %.12s; states are kept for %d days", ErrGone, hash, int(r.limits.KeepFor.Hours()/24))
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil || size < 0 || size >= b.Len() {
			return nil, fmt.Errorf("git cat-file: %w", io.ErrUnexpectedEOF)
		}
		out[hash] = bytes.Clone(b.Next(size))
		b.Next(1) // the line's end
	}
	return out, nil
}

// manyFiles is the number of new contents in one scan beyond which git stores them, in a pack.
const manyFiles = 30

// packer stores the new contents of a scan: the first ones as separate files, the others in one pack.
type packer struct {
	repo *Repo
	ctx  context.Context

	mu      sync.Mutex
	count   int
	git     *exec.Cmd // nil: not started
	pipe    io.WriteCloser
	in      *bufio.Writer // to pipe
	problem bytes.Buffer
}

// add stores a content under its hash. After close, it is on the disk.
func (p *packer) add(hash string, content []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count++; p.count <= manyFiles {
		return p.repo.keep(objectBlob, hash, content)
	}
	if p.git == nil {
		if err := p.start(); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.in, "blob\ndata %d\n", len(content))
	p.in.Write(content)
	return p.in.WriteByte('\n') // a bufio.Writer keeps its first error, so this covers all three writes
}

// start starts git, see https://git-scm.com/docs/git-fast-import.
func (p *packer) start() (err error) {
	git := p.repo.command(p.ctx, "-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", "--depth=0")
	git.Stderr = &p.problem
	if p.pipe, err = git.StdinPipe(); err != nil {
		return err
	}
	if err = git.Start(); err == nil {
		p.git, p.in = git, bufio.NewWriterSize(p.pipe, 1<<16)
	}
	return err
}

// close waits until git has stored everything.
func (p *packer) close() error {
	if p.git == nil {
		return nil
	}
	err := errors.Join(p.in.Flush(), p.pipe.Close(), p.git.Wait())
	if err != nil {
		return fmt.Errorf("git fast-import: %w: %s", cmp.Or(context.Cause(p.ctx), err), bytes.TrimSpace(p.problem.Bytes()))
	}
	return nil
}

// readEntry returns the content of a regular file, at most limit bytes, or the target of a link.
func readEntry(name string, is stamp, limit int64) ([]byte, error) {
	if is.kind() == kindLink {
		target, err := os.Readlink(name)
		return []byte(target), err
	}
	tooLarge := fmt.Errorf("%w for %s: it has more than %d bytes", ErrOff, Path(name), limit)
	if is.Size > limit {
		return nil, tooLarge
	}
	f, err := os.OpenFile(name, os.O_RDONLY|inPlace, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, os.ErrInvalid)
	}
	content := bytes.NewBuffer(make([]byte, 0, is.Size+bytes.MinRead))
	if _, err = content.ReadFrom(io.LimitReader(f, limit+1)); err == nil && int64(content.Len()) > limit {
		err = tooLarge // it grew
	}
	return content.Bytes(), err
}

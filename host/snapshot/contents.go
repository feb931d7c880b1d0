package snapshot

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

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

// readEntry returns the content of a file, or the target of a link.
func readEntry(name string, is stamp, limit int64) ([]byte, error) {
	if is.kind() == kindLink {
		target, err := os.Readlink(name)
		return []byte(target), err
	}
	return readFile(name, is.Size, limit)
}

// readFile returns the content of a regular file of about size bytes, at most limit.
func readFile(name string, size, limit int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|inPlace, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, os.ErrInvalid)
	}
	content := bytes.NewBuffer(make([]byte, 0, min(size, limit)+bytes.MinRead))
	if _, err := content.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	if int64(content.Len()) > limit {
		return nil, fmt.Errorf("%w for %s: it has more than %d bytes", ErrOff, name, limit)
	}
	return content.Bytes(), nil
}

package process

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// executable is the file that a plugin's processes run. What was approved is what runs:
//
//   - A program is copied while its digest is taken, to where nobody can change it, and the copy is run: on Linux to a sealed file
//     in memory, elsewhere to a private file. The copy is kept for restarts.
//   - A script (a program that begins with #!, or an argument of an interpreter) is read by its interpreter, by its path, and finds
//     its modules beside it, so it cannot be copied. Its digest is taken before the start and again when it has said hello; a file
//     that was exchanged in between is found then, after it ran. Who approves scripts keeps them where others cannot write.
//
// Without a digest the file runs as it is.
type executable struct {
	command []string
	program string // the file the digest is of
	digest  string // lower case, without prefix; empty: any

	mu   sync.Mutex
	copy sealed // nil until needed
}

// sealed is a copy of a file that nobody can change.
type sealed interface {
	path() string // to run it, in a child of this process
	close() error
}

func newExecutable(s *Spec) *executable {
	return &executable{command: s.Command, program: s.Program, digest: strings.ToLower(strings.TrimPrefix(s.Digest, "sha256:"))}
}

func validDigest(digest string) bool {
	sum, err := hex.DecodeString(strings.TrimPrefix(digest, "sha256:"))
	return err == nil && len(sum) == sha256.Size
}

// cmd returns the command that runs the file, after its digest was checked.
func (e *executable) cmd() (*exec.Cmd, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	cmd := &exec.Cmd{Path: e.command[0], Args: e.command}
	if e.digest == "" {
		return cmd, nil
	}
	if e.copy == nil {
		script, err := e.open()
		if err != nil {
			return nil, err
		}
		if script {
			return cmd, nil
		}
	}
	cmd.Path = e.copy.path()
	return cmd, nil
}

// open checks the file and makes the copy of one that is no script.
func (e *executable) open() (script bool, err error) {
	f, info, err := openRegular(e.program)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	begin := make([]byte, 2)
	n, err := f.ReadAt(begin, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if e.program != e.command[0] || bytes.Equal(begin[:n], []byte("#!")) {
		return true, e.check(f, io.Discard)
	}
	if !isExecutable(info) {
		return false, fmt.Errorf("%s is not executable; run chmod +x on it", e.program)
	}
	e.copy, err = seal(filepath.Base(e.program), func(w io.Writer) error { return e.check(f, w) })
	return false, err
}

// recheck looks at a script again that has been started.
func (e *executable) recheck() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.digest == "" || e.copy != nil {
		return nil
	}
	f, _, err := openRegular(e.program)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return e.check(f, io.Discard)
}

func openRegular(path string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO must not block
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// check copies the file to w and compares its digest.
func (e *executable) check(f io.Reader, w io.Writer) error {
	sum := sha256.New()
	if _, err := io.CopyBuffer(io.MultiWriter(sum, w), struct{ io.Reader }{f}, make([]byte, 1<<20)); err != nil {
		return fmt.Errorf("read %s: %w", e.program, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != e.digest {
		return fmt.Errorf("%w: %s has the digest sha256:%s, approved is sha256:%s; look at what changed, then approve the plugin again",
			ErrDigest, e.program, got, e.digest)
	}
	return nil
}

// close gives the copy up.
func (e *executable) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.copy == nil {
		return nil
	}
	err := e.copy.close()
	e.copy = nil
	return err
}

// privateCopy is a file that only this user can reach, and nobody writes to.
type privateCopy struct{ file string }

func newPrivateCopy(name string, fill func(io.Writer) error) (sealed, error) {
	dir, err := os.MkdirTemp("", "tenon-plugin-")
	if err != nil {
		return nil, err
	}
	c := &privateCopy{filepath.Join(dir, name)}
	f, err := os.OpenFile(c.file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err == nil {
		err = errors.Join(fill(f), f.Close())
	}
	if err == nil {
		err = os.Chmod(c.file, 0o500)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *privateCopy) path() string { return c.file }
func (c *privateCopy) close() error { return os.RemoveAll(filepath.Dir(c.file)) }

package child

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/tenonhq/tenon/internal/confine"
)

// ErrConfine is wrapped by errors of Start about the confinement, before the command was started.
var ErrConfine = errors.New("confine the command")

// Start starts a command prepared by Prepare. If policy is not nil, the command runs confined, with these rights and its own temporary
// directory; dirs are further directories that are removed if the host is killed. The caller calls leave once, after the command has ended.
func Start(cmd *exec.Cmd, policy func() (confine.Policy, error), dirs ...string) (leave func() error, err error) {
	if policy == nil {
		return begin(cmd)
	}
	c := &cell{}
	p, err := policy()
	if err == nil {
		err = c.open(p, dirs)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrConfine, err), c.close())
	}
	cmd.Env = Temporary(cmd.Env, c.temp, p.Write)
	if err := retried(func() error { return c.start(cmd) }); err != nil {
		return nil, errors.Join(err, c.close())
	}
	confine.Expend(cmd.Process.Pid)
	return c.close, nil
}

// retried calls begin, which starts a command, and retries it while the program's file is busy: a child that is being forked may briefly hold
// a file that was just written.
func retried(begin func() error) error {
	err := begin()
	for try := 0; try < 10 && errors.Is(err, syscall.ETXTBSY); try++ {
		time.Sleep(time.Duration(try+1) * time.Millisecond)
		err = begin()
	}
	return err
}

// cell confines one process.
//
// A confined process has no parent death signal, because the thread that starts it ends immediately (see confine.Ruleset.Do). Instead, a
// Guard, which is unconfined and starts before the process, kills its group if this process ends without closing the cell. With
// Landlock's ABI 6 or newer, a confined process cannot signal the guard; on older systems a process that kills its guard survives a
// killed host, unless it notices the end of its input.
type cell struct {
	temp  string // the temporary directory
	rules *confine.Ruleset
	guard *Guard
	group int // of the process; 0 before it has started
}

func (c *cell) open(p confine.Policy, dirs []string) (err error) {
	if c.temp, err = MakeTemporary("", "tenon-"); err != nil {
		return err
	}
	p.Write = append(slices.Clone(p.Write), c.temp)
	if c.rules, err = confine.New(p); err != nil {
		return err
	}
	c.guard, err = StartGuard("", append(slices.Clone(dirs), c.temp)...)
	return err
}

func (c *cell) start(cmd *exec.Cmd) error {
	return c.rules.Do(func() error {
		noParentSignal(cmd)
		err := cmd.Start()
		if err == nil {
			c.group = cmd.Process.Pid
			c.guard.Add(c.group)
		}
		return err
	})
}

// close removes the temporary directory and ends the guard, after the process has ended or failed to start.
func (c *cell) close() (err error) {
	if c.guard != nil {
		c.guard.Remove(c.group)
		_ = c.guard.Close() // fails if it was killed
	}
	if c.rules != nil {
		err = c.rules.Close()
	}
	return errors.Join(err, RemoveAll(c.temp))
}

// RemoveAll removes a directory, even if it contains read-only directories, as Go's module cache does.
func RemoveAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil // RemoveAll reports the rest
	})
	return os.RemoveAll(dir)
}

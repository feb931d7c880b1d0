package child

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/tenonhq/tenon/internal/confine"
)

// Cell confines one third-party process. It has its own temporary directory, which is removed with the cell.
//
// A confined process has no parent death signal, because the thread that starts it ends immediately (see confine.Ruleset.Do). Instead, a
// Guard, which is unconfined and starts before the process, kills its group if this process ends without closing the cell. With
// Landlock's ABI 6 or newer, a confined process cannot signal the guard; on older systems a process that kills its guard survives a
// killed host, unless it notices the end of its input.
type Cell struct {
	// Temp is the temporary directory.
	Temp string

	write []string // that the policy makes writable
	rules *confine.Ruleset
	guard *Guard
	group int // of the process; 0 before it has started
}

// NewCell prepares a cell for a process with these rights and write access to its temporary directory. dirs are further directories
// that are removed if the host is killed. The caller closes the cell after the process has ended. Errors are those of confine.New.
func NewCell(p confine.Policy, dirs ...string) (_ *Cell, err error) {
	temp, err := os.MkdirTemp("", "tenon-")
	if err != nil {
		return nil, fmt.Errorf("temporary directory: %w", err)
	}
	c := &Cell{Temp: temp}
	p.Write = append(slices.Clone(p.Write), temp)
	c.write = p.Write
	if c.rules, err = confine.New(p); err == nil {
		c.guard, err = StartGuard("", append(dirs[:len(dirs):len(dirs)], temp)...)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Environ returns the environment with the temporary directory of the cell, see Temporary.
func (c *Cell) Environ(env []string) []string { return Temporary(env, c.Temp, c.write) }

// Start starts a command prepared by Prepare. A failed start may be repeated.
func (c *Cell) Start(cmd *exec.Cmd) error {
	err := c.rules.Do(func() error {
		noParentSignal(cmd)
		err := cmd.Start()
		if err == nil {
			c.group = cmd.Process.Pid
			c.guard.Add(c.group)
		}
		return err
	})
	if err == nil {
		confine.Expend(cmd.Process.Pid)
	}
	return err
}

// Close removes the temporary directory and ends the guard. Call it after the process has ended or failed to start. It may be called
// twice.
func (c *Cell) Close() error {
	var err error
	if c.guard != nil {
		c.guard.Remove(c.group)
		_ = c.guard.Close() // fails if it was killed
		c.guard = nil
	}
	if c.rules != nil {
		err = c.rules.Close()
	}
	return errors.Join(err, RemoveAll(c.Temp))
}

// RemoveAll removes a directory, even if it contains read-only directories, like Go's module
// cache.
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

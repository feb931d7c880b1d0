package child

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/confine"
)

// Cell is where one process of a third party runs confined: with a temporary directory of its own, which is removed with the cell.
//
// A confined process has no parent death signal, because the thread that starts it ends at once (see confine.Ruleset.Do). A guard takes
// its place: a small unconfined shell which is there before the process starts, and kills its group when this process ends without
// closing the cell. A confined process cannot signal the guard, with Landlock's ABI 6 or newer; on older systems one that kills its guard
// outlives a killed host, unless it notices the end of its input.
type Cell struct {
	// Temp is the temporary directory.
	Temp string

	rules *confine.Ruleset
	guard *exec.Cmd
	input io.WriteCloser // of the guard
}

// guardScript reads the process group, then a line when that has ended. Its arguments are directories that it removes if there is none.
const guardScript = `read -r group
read -r bye && exit
[ -z "$group" ] || kill -9 "-$group" 2>/dev/null
rm -rf -- "$@" 2>/dev/null
exit 0`

// NewCell prepares a cell for a process with these rights, and that of writing its temporary directory. dirs are further directories
// that do not outlive a killed host. The caller closes the cell when the process has ended. Errors are those of confine.New.
func NewCell(p confine.Policy, dirs ...string) (_ *Cell, err error) {
	temp, err := os.MkdirTemp("", "tenon-")
	if err != nil {
		return nil, fmt.Errorf("temporary directory: %w", err)
	}
	c := &Cell{Temp: temp}
	p.Write = append(slices.Clone(p.Write), temp)
	if c.rules, err = confine.New(p); err == nil {
		err = c.startGuard(append(dirs[:len(dirs):len(dirs)], temp))
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cell) startGuard(dirs []string) error {
	cmd := exec.Command("/bin/sh", append([]string{"-c", guardScript, "sh"}, dirs...)...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
	ownSession(cmd)
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("guard of the process: %w", err)
	}
	c.guard, c.input = cmd, input
	return nil
}

// Environ returns the environment with the temporary directory of the cell.
func (c *Cell) Environ(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return strings.HasPrefix(entry, "TMPDIR=") })
	return append(env, "TMPDIR="+c.Temp)
}

// Start starts a command that Prepare made. A start that failed may be tried again.
func (c *Cell) Start(cmd *exec.Cmd) error {
	return c.rules.Do(func() error {
		noParentSignal(cmd)
		err := cmd.Start()
		if err == nil {
			_, _ = fmt.Fprintln(c.input, cmd.Process.Pid) // an error: somebody killed the guard
		}
		return err
	}, nil)
}

// Close removes the temporary directory and ends the guard. Call it after the process ended, or did not start; twice is fine.
func (c *Cell) Close() error {
	var err error
	if c.guard != nil {
		_, _ = io.WriteString(c.input, "\nbye\n") // an error: somebody killed it
		_ = c.input.Close()
		_ = c.guard.Wait()
		c.guard = nil
	}
	if c.rules != nil {
		err = c.rules.Close()
	}
	return errors.Join(err, RemoveAll(c.Temp))
}

// RemoveAll removes a directory, also where programs took the right to write from directories in it, as go
// does in its cache of modules.
func RemoveAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil // what stays, RemoveAll names
	})
	return os.RemoveAll(dir)
}

package child

import (
	"errors"
	"os"
	"os/exec"
	"time"

	"github.com/tenonhq/tenon/internal/confine"
)

// Pipes are the host's ends of a command's standard streams. Unlike the pipes of package exec, cmd.Wait neither closes them nor waits for
// processes that hold the other ends.
type Pipes struct{ Stdin, Stdout, Stderr *os.File }

// StartConnected prepares and starts a command, see Start, with its standard streams connected to new pipes. The caller closes
// them, unless there is an error.
func StartConnected(cmd *exec.Cmd, policy func() (confine.Policy, error), dirs ...string) (p *Pipes, leave func() error, err error) {
	p = &Pipes{}
	var theirs [3]*os.File
	var errs [3]error
	theirs[0], p.Stdin, errs[0] = os.Pipe()
	p.Stdout, theirs[1], errs[1] = os.Pipe()
	p.Stderr, theirs[2], errs[2] = os.Pipe()
	if err = errors.Join(errs[:]...); err == nil {
		Prepare(cmd)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
		leave, err = Start(cmd, policy, dirs...)
	}
	for _, f := range theirs {
		_ = f.Close() // a nil file is fine
	}
	if err != nil {
		p.Close()
	}
	return p, leave, err
}

// Close closes the host's ends and so ends reads and writes in progress. It may be called twice.
func (p *Pipes) Close() {
	for _, f := range []*os.File{p.Stdin, p.Stdout, p.Stderr} {
		_ = f.Close()
	}
}

// Drain limits the time for which the streams are read and written after the command has ended: its output is already in the pipes, but a
// process that outlives it may hold them open.
func (p *Pipes) Drain(limit time.Duration) {
	for _, f := range []*os.File{p.Stdin, p.Stdout, p.Stderr} {
		if f.SetDeadline(time.Now().Add(limit)) != nil {
			_ = f.Close() // a system without deadlines for pipes
		}
	}
}

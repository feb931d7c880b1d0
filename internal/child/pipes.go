package child

import (
	"errors"
	"os"
	"os/exec"
	"time"
)

// Pipes are the host's ends of a command's standard streams. Unlike the pipes of package exec, cmd.Wait neither closes them nor waits for
// processes that hold the other ends.
type Pipes struct {
	Stdin, Stdout, Stderr *os.File

	theirs []*os.File // the command's ends
}

// Connect connects the command's standard streams to new pipes, before it is started. The caller calls Started and Close.
func Connect(cmd *exec.Cmd) (*Pipes, error) {
	p := &Pipes{theirs: make([]*os.File, 3)}
	var errs [3]error
	p.theirs[0], p.Stdin, errs[0] = os.Pipe()
	p.Stdout, p.theirs[1], errs[1] = os.Pipe()
	p.Stderr, p.theirs[2], errs[2] = os.Pipe()
	if err := errors.Join(errs[:]...); err != nil {
		p.Started()
		p.Close()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.theirs[0], p.theirs[1], p.theirs[2]
	return p, nil
}

// Started closes the command's ends in this process. Call it after the command was started, or failed to start.
func (p *Pipes) Started() {
	for _, f := range p.theirs {
		_ = f.Close() // a nil file is fine
	}
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

package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/tenonhq/tenon/internal/confine"
)

// Pipes are the host's ends of a command's standard streams. Unlike with pipes of package exec, cmd.Wait neither closes them nor
// waits for processes that hold the other ends.
type Pipes struct {
	Stdin, Stdout, Stderr *os.File

	theirs []*os.File // the command's ends
}

// Connect connects the command's standard streams to new pipes, before it is started. The caller calls Started and Close.
func Connect(cmd *exec.Cmd) (*Pipes, error) {
	p := &Pipes{}
	var errs []error
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		errs = append(errs, err)
		return r, w
	}
	stdin, w := pipe()
	p.Stdin = w
	r, stdout := pipe()
	p.Stdout = r
	r, stderr := pipe()
	p.Stderr = r
	p.theirs = []*os.File{stdin, stdout, stderr}
	if err := errors.Join(errs...); err != nil {
		p.Started()
		p.Close()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	return p, nil
}

// Started closes the command's ends in this process. Call it after the command was started, or failed to start.
func (p *Pipes) Started() {
	for _, f := range p.theirs {
		_ = f.Close() // a nil file is fine
	}
}

// Close closes the host's ends, which ends reads and writes in progress. It may be called twice.
func (p *Pipes) Close() {
	for _, f := range []*os.File{p.Stdin, p.Stdout, p.Stderr} {
		_ = f.Close()
	}
}

// Start starts a command prepared by Prepare. If policy is not nil, the command runs confined in a cell. The caller calls leave after the
// command has ended.
func Start(cmd *exec.Cmd, policy func() (confine.Policy, error)) (leave func() error, err error) {
	if policy == nil {
		return func() error { return nil }, cmd.Start()
	}
	p, err := policy()
	if err != nil {
		return nil, err
	}
	cell, err := NewCell(p)
	if err != nil {
		return nil, fmt.Errorf("confine the command: %w", err)
	}
	cmd.Env = cell.Environ(cmd.Env)
	if err := cell.Start(cmd); err != nil {
		return nil, errors.Join(err, cell.Close())
	}
	return cell.Close, nil
}

package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/visible"
)

// tool is one run of a program of the user, such as npm or go, with a clean environment.
type tool struct {
	name string // looked up in PATH
	args []string
	dir  string
	env  map[string]string
	// write are the directories that the program may write to; it reads these, the system and its installation. Nil: it is not confined.
	write []string
	helps []string // further programs that it starts
}

// run runs the program, confined where the system can, and returns its output. The error has the end of what it said.
func (t tool) run(ctx context.Context, environ []string) (_ []byte, err error) {
	program, err := exec.LookPath(t.name)
	if err != nil {
		return nil, fmt.Errorf("%s not found; install it", t.name)
	}
	cmd := exec.CommandContext(ctx, program, t.args...)
	child.Prepare(cmd)
	var output, complaints bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = t.dir, child.Environ(environ, t.env), &output, &complaints
	start := cmd.Start
	if t.write != nil {
		cell, cellErr := t.cell(program)
		switch {
		case cellErr == nil:
			defer func() { err = errors.Join(err, cell.Close()) }()
			start = func() error { return cell.Start(cmd) }
		case !errors.Is(cellErr, confine.ErrUnsupported):
			return nil, cellErr
		}
	}
	if err = start(); err == nil {
		err = cmd.Wait()
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w: %s", t.name, t.args[0], err, visible.Tail(visible.Clean(complaints.String(), 8*maxComplaint), maxComplaint))
	}
	return output.Bytes(), nil
}

func (t tool) cell(program string) (*child.Cell, error) {
	p := confine.Policy{Read: append(confine.System(), confine.Installation(program)...), Write: append(confine.Devices(), t.write...)}
	for _, name := range t.helps {
		if path, err := exec.LookPath(name); err == nil {
			p.Read = append(p.Read, confine.Installation(path)...)
		}
	}
	return child.NewCell(p)
}

// note shows what is being done.
func (f *Fetcher) note(text string) {
	if f.Progress != nil {
		f.Progress(text, 0, 0)
	}
}

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

// run runs the program, confined if the system supports it, and returns its output. The error contains the end of its messages.
func (t tool) run(ctx context.Context, environ []string) ([]byte, error) {
	program, err := exec.LookPath(t.name)
	if err != nil {
		return nil, fmt.Errorf("%s not found; install it", t.name)
	}
	cmd := exec.CommandContext(ctx, program, t.args...)
	child.Prepare(cmd)
	var output, complaints bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = t.dir, child.Environ(environ, t.env), &output, &complaints
	policy := func() (confine.Policy, error) { return t.policy(program), nil }
	if _, unsupported := confine.Supported(); t.write == nil || unsupported != nil {
		policy = nil
	}
	leave, err := child.Start(cmd, policy)
	if err == nil {
		err = errors.Join(cmd.Wait(), leave())
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w: %s", t.name, t.args[0], err, visible.Tail(visible.Clean(complaints.String(), 8*maxComplaint), maxComplaint))
	}
	return output.Bytes(), nil
}

// policy returns the files that the program can access.
func (t tool) policy(program string) confine.Policy {
	p := confine.Policy{Read: append(confine.System(), confine.Installation(program)...), Write: append(confine.Devices(), t.write...)}
	for _, name := range t.helps {
		if path, err := exec.LookPath(name); err == nil {
			p.Read = append(p.Read, confine.Installation(path)...)
		}
	}
	return p
}

// progress reports the progress of an operation, in bytes; 0 if unknown.
func (f *Fetcher) progress(name string, have, want int64) {
	if f.Progress != nil {
		f.Progress(name, have, want)
	}
}

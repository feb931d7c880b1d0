package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
)

const (
	maxComplaint = 500      // bytes of the messages of programs in errors
	maxOutput    = 16 << 20 // bytes of the output of a program
)

// command returns a command that runs a program of the user. Programs in the project are not run: the model's commands can create them.
func (f *Fetcher) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	path, err := projectfs.LookPath(name, f.Project)
	cmd := exec.CommandContext(ctx, cmp.Or(path, name), args...)
	cmd.Args[0], cmd.Err = name, err
	child.Prepare(cmd)
	child.OwnSession(cmd) // ssh asks about unknown hosts on the terminal
	return cmd
}

// tool is one run of a program of the user, such as npm or go, with a clean environment.
type tool struct {
	name string // looked up in PATH
	args []string
	dir  string
	env  map[string]string
	// write are the directories that the program may write to; it reads these, the system and its installation. Nil: it is not confined.
	write []string
	helps []string // other programs that it starts
}

// run runs the program, confined if the system supports it, and returns its output.
func (t tool) run(ctx context.Context, f *Fetcher) ([]byte, error) {
	cmd := f.command(ctx, t.name, t.args...)
	env := map[string]string{"PATH": projectfs.Path(os.Getenv("PATH"), f.Project)}
	maps.Copy(env, t.env)
	cmd.Dir, cmd.Env = t.dir, child.Environ(f.Environ, env)
	policy := func() (confine.Policy, error) { return t.policy(cmd.Path, f.Project), nil }
	if _, unsupported := confine.Supported(); t.write == nil || unsupported != nil {
		policy = nil
	}
	return Output(ctx, cmd, t.name+" "+t.args[0], policy)
}

// Output runs a command, confined if policy is not nil, and returns its output, at most 16 MiB. The error contains the name for the command
// and the end of its messages.
func Output(ctx context.Context, cmd *exec.Cmd, name string, policy func() (confine.Policy, error)) ([]byte, error) {
	if errors.Is(cmd.Err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%w; install it", cmd.Err)
	}
	var out beginning
	var complaints ending
	cmd.Stdout, cmd.Stderr = &out, &complaints
	leave, err := child.Start(cmd, policy)
	if err == nil {
		err = errors.Join(child.Ended(cmd.Wait()), leave())
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		end := visible.Tail(strings.TrimSpace(string(complaints)), maxComplaint)
		return nil, fmt.Errorf("%s: %w: %s", name, err, visible.Clean(end, maxComplaint))
	case len(out) > maxOutput:
		return nil, fmt.Errorf("%s: more than %d MiB of output", name, maxOutput>>20)
	}
	return out, nil
}

// beginning keeps the beginning of its input, up to one byte more than maxOutput.
type beginning []byte

func (b *beginning) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), maxOutput+1-len(*b))]...)
	return len(p), nil
}

// ending keeps the end of its input: git prints the messages of a server, which may be endless.
type ending []byte

// Write appends p and keeps the end, which is longer than the part that errors show.
func (e *ending) Write(p []byte) (int, error) {
	const limit = 2 * maxComplaint
	*e = append(*e, p[max(0, len(p)-limit):]...)
	*e = append((*e)[:0], (*e)[max(0, len(*e)-limit):]...)
	return len(p), nil
}

// policy returns the files that the program can access.
func (t tool) policy(program, project string) confine.Policy {
	p := confine.Policy{Read: append(confine.System(), confine.Installation(program)...), Write: append(confine.Devices(), t.write...)}
	for _, name := range t.helps {
		if path, err := projectfs.LookPath(name, project); err == nil {
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

package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// oracle asks git which names it ignores. It starts git with the first question and ends it in close.
type oracle struct {
	r *Repo

	cmd     *exec.Cmd
	in      interface{ Close() error }
	write   *bufio.Writer
	read    *bufio.Reader
	problem bytes.Buffer
}

// ask tells of each path, relative to the project with slashes, whether git ignores it. What is above a path must not be ignored.
func (o *oracle) ask(ctx context.Context, paths []string) ([]bool, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	if o.cmd == nil {
		if err := o.start(ctx); err != nil {
			return nil, err
		}
	}
	sent := make(chan error, 1)
	go func() { // ends with the last path, or with git, which ctx bounds; waited for below
		for _, p := range paths {
			o.write.WriteString("./" + p + "\x00") // the error stays, Flush returns it
		}
		sent <- o.write.Flush()
	}()
	out := make([]bool, len(paths))
	var err error
	for i, p := range paths {
		if out[i], err = o.answer(p); err != nil {
			_ = o.cmd.Process.Kill() // so that nothing waits for it; close reports why
			break
		}
	}
	return out, errors.Join(err, <-sent)
}

// start runs git check-ignore, which answers each name as it comes.
func (o *oracle) start(ctx context.Context) error {
	cmd := o.r.command(ctx, nil, "check-ignore", "--no-index", "--stdin", "-z", "--verbose", "--non-matching")
	cmd.Stderr = &o.problem
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git check-ignore: %w", err)
	}
	o.cmd, o.in, o.write, o.read = cmd, in, bufio.NewWriterSize(in, 1<<16), bufio.NewReaderSize(out, 1<<16)
	return nil
}

// answer reads what git says of one path: source, line, pattern, path, each ended by a zero byte. The first three are empty when no
// pattern matches; one that begins with an exclamation mark takes the path in again.
func (o *oracle) answer(path string) (bool, error) {
	var fields [4]string
	for i := range fields {
		text, err := o.read.ReadString(0)
		if err != nil {
			return false, fmt.Errorf("git check-ignore: %w", err)
		}
		fields[i] = strings.TrimSuffix(text, "\x00")
	}
	if strings.TrimPrefix(fields[3], "./") != path {
		return false, fmt.Errorf("git check-ignore: asked for %q, answered for %q", path, fields[3])
	}
	return fields[0] != "" && !strings.HasPrefix(fields[2], "!"), nil
}

// close ends git. Its exit code tells only whether it ignores something.
func (o *oracle) close() error {
	if o.cmd == nil {
		return nil
	}
	closed := o.in.Close()
	err := o.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("git check-ignore: %w: %s", errors.Join(err, closed), bytes.TrimSpace(o.problem.Bytes()))
	}
	return nil
}

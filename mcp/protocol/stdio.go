package protocol

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/mcp/internal/sse"
)

// errLost is returned if the connection is lost, or unusable after a violation of the protocol.
var errLost = errors.New("the connection to the server was lost")

// errUnsent is returned if a request did not reach the server.
var errUnsent = errors.New("not sent")

const (
	// closeGrace is the time for a server to end after its input is closed, and again after it was asked to end.
	closeGrace = 500 * time.Millisecond
	// drainGrace is the time to read the last output of a server that ended, which is already in the pipe. It must be sufficient on a busy
	// machine. All of it passes only if a process that left the group holds the output open.
	drainGrace = time.Second
	// maxWaiting is the maximum number of messages queued for a server that does not read.
	maxWaiting = 64
)

// stdio runs a server as a child process and exchanges messages over its input and output, one per line. The child has
// a clean environment and its own process group, and the length of its lines is limited.
//
// Goroutines: one reads, and then ends a server that only closed its output, one writes, one waits for the process, one copies its errors
// to the log, one answers each request of the server, and one sends refusals. All end with the process; close waits for them.
type stdio struct {
	conn  *Conn
	cmd   *exec.Cmd
	leave func() error // cleans up after the process

	in  io.WriteCloser // nil before start
	out chan []byte    // lines for the server

	exited chan struct{} // the process is gone
	output sync.WaitGroup
}

func newStdio(c *Conn) carrier {
	return &stdio{conn: c, out: make(chan []byte, maxWaiting), exited: make(chan struct{})}
}

// Command runs a local server.
type Command struct {
	Name string // a path, relative to Dir, or a name in the PATH of the server
	Args []string
	// Environ is the host's environment, in the form of os.Environ: the server gets the part that every program needs, and Env.
	Environ []string
	Env     map[string]string
	Dir     string
	// Confine returns the files the server may access; it is called at each start. If nil, the server has all rights of the user.
	Confine func() (confine.Policy, error)
}

// lookPath finds the command in the PATH the child will have.
func lookPath(command, dir string, env []string) (string, error) {
	if filepath.Base(command) != command {
		if !filepath.IsAbs(command) {
			command = filepath.Join(dir, command)
		}
		path, err := exec.LookPath(command)
		if err != nil {
			return "", fmt.Errorf("command %s cannot be run: %w", command, errors.Unwrap(err))
		}
		return path, nil
	}
	if path := child.LookPath(command, env); path != "" {
		return path, nil
	}
	return "", fmt.Errorf("command %q is not in PATH; install it, or give its full path", command)
}

// start starts the process.
func (t *stdio) start(context.Context) error {
	c := t.conn.dialer.Command
	env := child.NetworkEnviron(c.Environ, c.Env)
	path, err := lookPath(c.Name, c.Dir, env)
	if err != nil {
		if program, arguments, ok := strings.Cut(c.Name, " "); ok {
			err = fmt.Errorf("%w; if the program is %s, %q are arguments", err, program, arguments)
		}
		return err
	}
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		return fmt.Errorf("cwd: %s is not a directory", c.Dir)
	}
	t.cmd = &exec.Cmd{Path: path, Args: append([]string{c.Name}, c.Args...), Dir: c.Dir, Env: env}
	pipes, leave, err := child.StartConnected(t.cmd, c.Confine)
	if err != nil {
		if c.Confine != nil && errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w; it is confined, unless sandbox.unconfined lists the server", err)
		}
		return fmt.Errorf("start %s: %w", path, err)
	}
	t.in, t.leave = pipes.Stdin, leave
	t.output.Go(func() { t.read(pipes.Stdout) })
	t.output.Go(func() { _, _ = io.Copy(t.conn.dialer.Log, pipes.Stderr) })
	t.conn.running.Go(t.write)
	t.conn.running.Go(func() { t.wait(pipes) })
	return nil
}

// read handles the server's messages until its output ends. A server that closed its output cannot answer, so it is ended.
func (t *stdio) read(out io.ReadCloser) {
	lines := sse.Lines(out, maxMessageBytes)
	var err error
	for !errors.Is(err, errTooLong) && lines.Scan() {
		if text := bytes.TrimSpace(lines.Bytes()); len(text) > 0 {
			err = t.conn.receive(t.conn.running.Life(), nil, text) // other output is logged
		}
	}
	if errors.Is(err, errTooLong) || errors.Is(lines.Err(), bufio.ErrTooLong) { // other errors: the end of the process has the cause
		t.conn.fail(fmt.Errorf("%w: %w", errLost, errTooLong))
		_ = child.Kill(t.cmd)
	}
	t.conn.running.Go(func() { // ends with the process
		if !t.gone() {
			t.conn.fail(fmt.Errorf("%w: it closed its output", errLost))
			_ = child.Kill(t.cmd)
		}
	})
}

// write sends the lines, one after the other. A server that does not read blocks only this goroutine.
func (t *stdio) write() {
	for {
		select {
		case line := <-t.out:
			if _, err := t.in.Write(line); err != nil {
				return // the end of the process has the cause
			}
		case <-t.conn.Lost():
			return
		}
	}
}

// wait waits for the process and ends its process group.
func (t *stdio) wait(pipes *child.Pipes) {
	err := t.cmd.Wait()
	t.conn.running.Close() // no answer can reach the server: read must not wait for one before the last output
	_ = child.Kill(t.cmd)
	if err := t.leave(); err != nil {
		_, _ = fmt.Fprintln(t.conn.dialer.Log, "tenon: temporary files of the server were not removed:", err)
	}
	// Its last answers and its last words may still be in the pipes, which a process that left the group may hold open.
	late := time.AfterFunc(drainGrace, pipes.Close)
	t.output.Wait()
	late.Stop()
	state := "it ended"
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		state = "it ended with " + exit.Error()
	}
	t.conn.fail(fmt.Errorf("%w: %s%s", errLost, state, t.conn.dialer.Log.LastWords()))
	close(t.exited)
	pipes.Close()
}

// send queues a message.
func (t *stdio) send(ctx context.Context, m *outgoing) error {
	line, err := json.Marshal(m)
	if err == nil {
		err = t.conn.Cause()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnsent, err)
	}
	select {
	case t.out <- append(line, '\n'):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-t.conn.Lost():
		return fmt.Errorf("%w: %w", errUnsent, t.conn.Cause())
	}
}

// close ends the server: it closes its input, then sends SIGTERM, then kills it. The end of its process group ends wait.
func (t *stdio) close() {
	if t.in == nil { // it was not started
		return
	}
	_ = t.in.Close()
	if t.conn.received.Load() > 0 && t.gone() { // a server that has sent nothing yet has nothing to finish
		return
	}
	_ = child.Terminate(t.cmd)
	if !t.gone() {
		_ = child.Kill(t.cmd)
	}
}

// gone waits for the process, at most for closeGrace.
func (t *stdio) gone() bool {
	select {
	case <-t.exited:
		return true
	case <-time.After(closeGrace):
		return false
	}
}

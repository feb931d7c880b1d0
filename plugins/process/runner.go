package process

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// drainTime is the time for which the output of an ended process is still read. It is there already, but on a busy machine the readers may have
// to wait for a processor.
const drainTime = 250 * time.Millisecond

// endTime is the maximum time for which a call whose connection broke waits for the end of the process, so that its error can say how the
// process ended.
const endTime = time.Second

// childRunner is one process. go-plugin starts it through this type, and receives only its handshake.
type childRunner struct {
	unit     *remote.Unit
	env      []string
	memoryMB int
	log      *slog.Logger
	out, err *printed
	// confine returns the rights of the process. If nil, it runs unconfined.
	confine func() (confine.Policy, error)

	plugged   []string // the environment go-plugin adds
	socketDir string
	wire      wire
	lines     *lineClient // nil if the process does not speak lines; read it after Start

	ended chan struct{} // closed when the process has ended and its output was read
	how   error         // why it ended; read it after ended

	mu     sync.Mutex
	begun  bool      // Start was called
	hello  string    // the handshake line; empty until it is received
	cmd    *exec.Cmd // nil until it was started
	stdin  *os.File  // kept open: the process notices the end of the host by its end
	reason error     // why the host ended it; nil: it did not
}

var _ runner.Runner = (*childRunner)(nil)

func newRunner(o Options, u *remote.Unit, project sdk.Project, env []string, log *slog.Logger) *childRunner {
	budget := &remote.LineLimit{}
	r := &childRunner{
		wire: wire{onStdio: o.linesOnStdio},
		unit: u, env: env, memoryMB: o.MemoryMB, log: log,
		out:   newPrinted(log, budget, "stdout"),
		err:   newPrinted(log, budget, "stderr"),
		ended: make(chan struct{}),
	}
	if o.confined(u) {
		r.confine = func() (confine.Policy, error) { return policy(u, project, env, r.socketDir) }
	}
	return r
}

// adopt sets go-plugin's part of the environment, and the directory of the socket.
func (r *childRunner) adopt(env []string, socketDir string) {
	r.plugged, r.socketDir = env, socketDir
}

// Start starts the process and waits for its handshake. It returns errSpeaksLines for a process that is not for go-plugin.
func (r *childRunner) Start(ctx context.Context) error {
	r.mu.Lock()
	r.begun = true
	r.mu.Unlock()
	defer func() {
		if r.lines == nil {
			r.wire.close()
		}
	}()
	greeting, err := r.exec()
	if err != nil {
		r.how = err
		close(r.ended)
		return err
	}
	var first hello
	select {
	case first = <-greeting:
		r.mu.Lock()
		r.hello = first.line
		r.mu.Unlock()
	case <-r.ended:
		return r.how
	case <-ctx.Done():
		r.fail(r.late(context.Cause(ctx)))
		<-r.ended
		return r.how
	}
	if err := checkHandshake(r.hello, r.socketDir); err != nil {
		r.fail(err)
		<-r.ended
		return r.how
	}
	if !speaksLines(r.hello) {
		return nil
	}
	r.lines = serveLines(jsonline.New(r.wire.stream(first, r.stdin)), func(err error) {
		if reason := connectionBroke(err); errors.Is(reason, errNotLines) || !awaitEnd(r.ended) {
			r.fail(reason)
		}
	})
	return errSpeaksLines
}

// errSpeaksLines ends go-plugin's part in the start of a process that speaks lines: it knows no such handshake.
var errSpeaksLines = errors.New("the process speaks lines")

// exec starts the process, and goroutines that read its output and wait for it. They end with the process. The returned channel
// receives the first line of the output.
func (r *childRunner) exec() (<-chan hello, error) {
	if err := checkProgram(r.unit); err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: r.unit.Command[0], Args: r.unit.Command, Dir: r.unit.Root, Env: append(r.env, r.plugged...)}
	if err := r.wire.offer(cmd); err != nil {
		return nil, err
	}
	defer r.wire.started()
	child.Prepare(cmd)
	pipes, err := child.Connect(cmd)
	if err != nil {
		return nil, err
	}
	leave, err := child.Start(cmd, r.confine, r.socketDir)
	pipes.Started()
	if err != nil {
		pipes.Close()
		return nil, startError(cmd, err)
	}
	limitMemory(cmd.Process.Pid, r.memoryMB)
	r.started(cmd, pipes.Stdin)

	first := make(chan hello, 1)
	var reading sync.WaitGroup
	reading.Go(func() { r.readOutput(pipes.Stdout, first) })
	reading.Go(func() { _, _ = io.Copy(r.err, pipes.Stderr) })
	go func() {
		err := cmd.Wait()
		_ = child.Kill(cmd) // and its children
		if err := leave(); err != nil {
			r.log.Warn("temporary files of the plugin not removed", "err", err)
		}
		pipes.Drain(drainTime)
		reading.Wait()
		pipes.Close()
		r.how = r.describeEnd(err)
		close(r.ended)
	}()
	return first, nil
}

// started stores the process, and kills it if it was already to be ended.
func (r *childRunner) started(cmd *exec.Cmd, stdin *os.File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cmd, r.stdin = cmd, stdin
	if r.reason != nil {
		_ = child.Kill(cmd)
	}
}

// startError adds the remedy to the error of a file that does not start.
func startError(cmd *exec.Cmd, err error) error {
	if errors.Is(err, child.ErrConfine) {
		return err
	}
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err
	}
	remedy := ""
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		remedy = "; it is not a program for this system, or a script without #! in its first line"
	case errors.Is(err, os.ErrPermission):
		remedy = "; check that it is executable and that its file system allows it"
	case errors.Is(err, os.ErrNotExist):
		remedy = "; check that it, the interpreter it names and its working directory " + cmd.Dir + " are there"
	}
	return fmt.Errorf("run %s: %w%s", cmd.Args[0], err, remedy)
}

// readOutput passes the first line on as the handshake and logs the others, unless they belong to the wire.
func (r *childRunner) readOutput(stdout io.Reader, first chan<- hello) {
	lines := bufio.NewReaderSize(stdout, maxHandshake)
	line, err := lines.ReadSlice('\n')
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		_, _ = r.out.Write(line)
		return
	}
	h := hello{line: string(line), rest: lines}
	first <- h
	if r.wire.isOutput(h) {
		return // the rest belongs to the wire
	}
	_, _ = io.Copy(r.out, lines)
}

// describeEnd returns how the process ended: the host's reason, or its exit status and last output.
func (r *childRunner) describeEnd(err error) error {
	r.mu.Lock()
	reason, hello := r.reason, r.hello
	r.mu.Unlock()
	if reason != nil {
		return reason
	}
	end := "exit status 0"
	if err != nil {
		end = err.Error()
	}
	said := r.err.why()
	if hello == "" && said == "" {
		said = r.out.why()
	}
	if said != "" {
		end += ": " + said
	}
	return errors.New(end)
}

// fail kills the process, for a reason.
func (r *childRunner) fail(reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reason = cmp.Or(r.reason, reason)
	r.kill()
}

// late returns the reason for ending a start that took too long. It mentions a missing handshake.
func (r *childRunner) late(reason error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hello == "" {
		return fmt.Errorf("%w: it sent no handshake", reason)
	}
	return reason
}

// abandon is fail for a process that may not have been started.
func (r *childRunner) abandon(reason error) {
	r.fail(reason)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		r.begun, r.how = true, reason
		close(r.ended)
	}
}

// hangUp requests the end of the process: it closes stdin and sends a signal.
func (r *childRunner) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running() {
		_ = r.stdin.Close()
		_ = child.Terminate(r.cmd)
	}
}

// Kill ends the process and its group.
func (r *childRunner) Kill(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kill()
	return nil
}

// kill kills the process group if the process is running. The caller holds mu.
func (r *childRunner) kill() {
	if r.running() {
		_ = child.Kill(r.cmd)
	}
}

// running reports whether the process is running. The caller holds mu.
func (r *childRunner) running() bool {
	select {
	case <-r.ended:
		return false
	default:
		return r.cmd != nil
	}
}

// Wait waits for the end of the process.
func (r *childRunner) Wait(context.Context) error {
	<-r.ended
	return nil
}

// Stdout returns the handshake line for go-plugin.
func (r *childRunner) Stdout() io.ReadCloser { return io.NopCloser(strings.NewReader(r.hello)) }

// Stderr returns no output: this package reads it, within limits.
func (r *childRunner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name returns the name of the plugin.
func (r *childRunner) Name() string { return r.unit.Description.Name }

// ID returns the process id.
func (r *childRunner) ID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd == nil {
		return ""
	}
	return strconv.Itoa(r.cmd.Process.Pid)
}

// Diagnose returns nothing: the errors of Start explain the problem.
func (r *childRunner) Diagnose(context.Context) string { return "" }

// PluginToHost returns the address unchanged.
func (r *childRunner) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin returns the address unchanged.
func (r *childRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

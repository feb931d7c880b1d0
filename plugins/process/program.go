package process

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/process"
)

// drainTime is the time for which the output of an ended process is still read. All of it has been written by then, but on a busy machine the
// readers may have to wait for a processor.
const drainTime = 250 * time.Millisecond

// endTime is the maximum time for which a call whose connection broke waits for the end of the process, so that its error can say how the
// process ended.
const endTime = time.Second

// program is a running process and its output.
type program struct {
	name      string // of the plugin
	log       *slog.Logger
	out, err  *printed
	socketDir string             // for the socket of gRPC
	socket    io.ReadWriteCloser // the connection for lines; nil: the standard streams
	cmd       *exec.Cmd
	stdin     *os.File // kept open: the process notices the end of the host when it closes
	calls     callTable

	ended chan struct{} // closed when the process has ended and its output was read
	how   error         // the reason why it ended; read it and idle after ended
	idle  bool          // no call was in progress when it ended, so none fails with how

	mu      sync.Mutex
	greeted bool  // it sent its handshake
	reason  error // the reason why the host ended it; nil if it did not
}

// greeting is the beginning of a process's output.
type greeting struct {
	line string    // the handshake
	rest io.Reader // the output after it
}

// run starts the process of a plugin. The returned channel receives the first line of its output. The caller calls cleanUp after the
// process has ended.
func run(o Options, u *remote.Unit, project sdk.Project, log *slog.Logger, cert string) (*program, <-chan greeting, error) {
	if err := checkProgram(u); err != nil {
		return nil, nil, err
	}
	budget := &remote.LineLimit{}
	p := &program{
		name: u.Description.Name, log: log, ended: make(chan struct{}),
		out: newPrinted(log, budget, "stdout"),
		err: newPrinted(log, budget, "stderr"),
	}
	var err error
	if p.socketDir, err = makeSocketDir(); err != nil {
		return nil, nil, err
	}
	greetings, err := p.start(o, u, project, cert)
	if err != nil {
		p.cleanUp()
		return nil, nil, err
	}
	return p, greetings, nil
}

// maxSocketRoot leaves room for the names of a directory and a socket: on some systems the path of a socket has at most 104 characters.
const maxSocketRoot = 60

// makeSocketDir makes the directory for a socket of gRPC, with a short path if possible. A tenon that itself runs confined can write only the
// usual directory; plugins without gRPC work there.
func makeSocketDir() (string, error) {
	const pattern = "plugin-dir"
	if len(os.TempDir()) > maxSocketRoot {
		if dir, err := os.MkdirTemp("/tmp", pattern); err == nil {
			return dir, nil
		}
	}
	return child.MakeTemporary("", pattern)
}

// start starts the process, and goroutines that read its output and wait for it. They end with the process.
func (p *program) start(o Options, u *remote.Unit, project sdk.Project, cert string) (<-chan greeting, error) {
	env, err := p.environ(o, u, cert)
	if err != nil {
		return nil, err
	}
	p.cmd = &exec.Cmd{Path: u.Command[0], Args: u.Command, Dir: u.Root, Env: env}
	theirs, err := p.offerLines(o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }() // a nil file is fine
	var rights func() (confine.Policy, error)
	if o.confined(u) {
		rights = func() (confine.Policy, error) { return policy(u, project, env, p.socketDir) }
	}
	pipes, leave, err := child.StartConnected(p.cmd, rights, p.socketDir)
	if err != nil {
		return nil, startError(p.cmd, err)
	}
	limitMemory(p.cmd.Process.Pid, o.MemoryMB)
	p.stdin = pipes.Stdin

	greetings := make(chan greeting, 1)
	var reading sync.WaitGroup
	reading.Go(func() { p.readOutput(pipes.Stdout, greetings) })
	reading.Go(func() { _, _ = io.Copy(p.err, pipes.Stderr) })
	go func() {
		err := p.cmd.Wait()
		_ = child.Kill(p.cmd) // and its children
		if err := leave(); err != nil {
			p.log.Warn("temporary files of the plugin not removed", "err", err)
		}
		pipes.Drain(drainTime)
		reading.Wait()
		pipes.Close()
		p.how, p.idle = p.describeEnd(err), p.calls.empty()
		close(p.ended)
	}()
	return greetings, nil
}

// environ returns the environment of the process, see docs/process-protocol.md, and makes the directory of its data.
func (p *program) environ(o Options, u *remote.Unit, cert string) ([]string, error) {
	env := map[string]string{}
	maps.Copy(env, u.Env)
	delete(env, "PLUGIN_DATA")
	if u.DataDir != "" {
		if err := os.MkdirAll(u.DataDir, 0o700); err != nil {
			return nil, fmt.Errorf("directory for its data: %w", err)
		}
		env["PLUGIN_DATA"] = u.DataDir
	}
	maps.Copy(env, map[string]string{
		"PLUGIN_ROOT":              u.Root,
		process.CookieKey:          process.CookieValue,
		"PLUGIN_PROTOCOL_VERSIONS": strconv.Itoa(process.ProtocolVersion),
		plugin.EnvUnixSocketDir:    p.socketDir,
		"PLUGIN_CLIENT_CERT":       cert,
		"PLUGIN_MIN_PORT":          "10000", // as go-plugin
		"PLUGIN_MAX_PORT":          "25000",
	})
	return child.Environ(o.Environ(), env), nil
}

// offerLines gives the process a connection for lines. Every process gets one, because only its handshake tells whether it uses lines. After
// the start, the caller closes the process's end, which may be nil.
func (p *program) offerLines(o Options) (theirs *os.File, err error) {
	where := "stdio"
	if !o.linesOnStdio {
		p.socket, theirs, err = lineSocket()
	}
	if theirs != nil {
		p.cmd.ExtraFiles, where = []*os.File{theirs}, "3"
	}
	p.cmd.Env = append(p.cmd.Env, "TENON_LINES="+where)
	return theirs, err
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
		remedy = "; it is not a program for this system, or a script without #! in its first line, or a pointer of Git LFS, whose files are not fetched"
	case errors.Is(err, os.ErrPermission):
		remedy = "; check that it is executable and that its file system allows it"
	case errors.Is(err, os.ErrNotExist):
		remedy = "; check that it exists, that the interpreter in its first line exists (a carriage return at the end of that line becomes part of its name), and that its working directory " + cmd.Dir + " exists"
	}
	return fmt.Errorf("run %s: %w%s", cmd.Args[0], err, remedy)
}

// readOutput passes the first line on as the handshake and logs the others, unless they belong to the connection for lines.
func (p *program) readOutput(stdout io.Reader, greetings chan<- greeting) {
	output := bufio.NewReaderSize(stdout, maxHandshake)
	line, err := output.ReadSlice('\n')
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		_, _ = p.out.Write(line)
		return
	}
	p.mu.Lock()
	p.greeted = true
	p.mu.Unlock()
	first := greeting{line: string(line), rest: output}
	greetings <- first
	if p.socket == nil && speaksLines(first.line) {
		return
	}
	_, _ = io.Copy(p.out, output)
}

// connection returns the connection for lines.
func (p *program) connection(first greeting) io.ReadWriteCloser {
	if p.socket != nil {
		return p.socket
	}
	return struct {
		io.Reader
		io.WriteCloser
	}{first.rest, p.stdin}
}

// broke ends a process whose connection for lines ended before it. Usually both end together.
func (p *program) broke(err error) {
	if errors.Is(err, jsonline.ErrBadMessage) || errors.Is(err, jsonline.ErrTooLong) {
		p.fail(fmt.Errorf("it does not speak the line protocol: %w", err))
		return
	}
	select {
	case <-p.ended:
	case <-time.After(endTime / 2): // shorter than endTime: calls still wait for the end
		p.fail(errors.New("it closed the connection"))
	}
}

// describeEnd returns how the process ended: the host's reason, or its exit status and last output.
func (p *program) describeEnd(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reason != nil {
		return p.reason
	}
	end := "exit status 0"
	if err != nil {
		end = err.Error()
	}
	said := p.err.why()
	if said == "" && !p.greeted {
		said = cmp.Or(p.out.why(), "it ended without its handshake; check that the program runs its plugin")
	}
	if said != "" {
		end += ": " + said
	}
	return errors.New(end)
}

// fail kills the process, for a reason.
func (p *program) fail(reason error) {
	p.mu.Lock()
	p.reason = cmp.Or(p.reason, reason)
	p.mu.Unlock()
	p.unlessEnded(child.Kill)
}

// late is fail for a start that took too long. The reason mentions a missing handshake.
func (p *program) late(reason error) {
	p.mu.Lock()
	greeted := p.greeted
	p.mu.Unlock()
	if !greeted {
		reason = fmt.Errorf("%w: it sent no handshake", reason)
	}
	p.fail(reason)
}

// hangUp requests the end of the process: it closes stdin and sends a signal.
func (p *program) hangUp() {
	_ = p.stdin.Close()
	p.unlessEnded(child.Terminate)
}

// unlessEnded calls f unless the process has ended: its number may then belong to another process.
func (p *program) unlessEnded(f func(*exec.Cmd) error) {
	if !p.isOver() {
		_ = f(p.cmd)
	}
}

// isOver reports whether the process ended.
func (p *program) isOver() bool { return isDone(p.ended) }

// isDone reports whether a channel is closed.
func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// endError describes the end of the process. Call it after ended.
func (p *program) endError() error {
	return fmt.Errorf("%w: plugin %q: %w", ErrEnded, p.name, p.how)
}

// cleanUp closes the host's end of the connection for lines and removes the directory of the socket.
func (p *program) cleanUp() {
	if p.socket != nil {
		_ = p.socket.Close()
	}
	p.removeSocket()
}

// removeSocket removes the directory of the socket. It is not needed once the plugin has answered, because the connection stays open; and a
// killed host then leaves no files behind.
func (p *program) removeSocket() {
	_ = os.RemoveAll(p.socketDir) // at worst an empty directory or a dead socket remains
}

package process

import (
	"io"
	"os"
	"os/exec"
)

// linesEnv is the variable that names the connection for lines: linesFile or linesStdio.
const (
	linesEnv   = "TENON_LINES"
	linesFile  = "3" // a file descriptor
	linesStdio = "stdio"
)

// hello is the beginning of a process's output.
type hello struct {
	line string    // the handshake
	rest io.Reader // what follows
}

// wire is the connection for lines. It is offered to every process, because only the handshake says whether the process uses it.
type wire struct {
	onStdio bool
	ours    io.ReadWriteCloser // nil: the standard streams
	theirs  *os.File           // nil: likewise
}

// offer passes the process its end.
func (w *wire) offer(cmd *exec.Cmd) (err error) {
	where := linesStdio
	if !w.onStdio {
		w.ours, w.theirs, err = lineSocket()
	}
	if w.theirs != nil {
		cmd.ExtraFiles, where = []*os.File{w.theirs}, linesFile
	}
	cmd.Env = append(cmd.Env, linesEnv+"="+where)
	return err
}

// started closes the process's end in this process. Call it after the start, even a failed one.
func (w *wire) started() { _ = w.theirs.Close() } // a nil file is fine

// isOutput reports whether the output after the handshake belongs to the wire.
func (w *wire) isOutput(h hello) bool { return w.ours == nil && speaksLines(h.line) }

// stream returns the connection of a process that speaks lines.
func (w *wire) stream(h hello, stdin io.WriteCloser) io.ReadWriteCloser {
	if w.ours == nil {
		return stdio{h.rest, stdin}
	}
	return w.ours
}

// close closes the end of this process, if the process does not speak lines.
func (w *wire) close() {
	if w.ours != nil {
		_ = w.ours.Close()
	}
}

// stdio is a connection over the standard streams.
type stdio struct {
	io.Reader
	io.WriteCloser
}

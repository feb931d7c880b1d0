package lines

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// maxStack bounds the stack of a goroutine, in bytes. Go's own bound of 1 GiB makes an endless recursion last for seconds.
const maxStack = 128 << 20

// The variable that selects the connection.
const (
	linesEnv   = "TENON_LINES"
	linesStdio = "stdio"
	linesFile  = 3
)

// Serve runs the plugin until the host stops it or exits. Call it in main, and print nothing before: the first line of output is the handshake.
//
// If a user starts the program, Serve prints the plugin's contributions as JSON with the argument --describe. Without it, Serve explains the
// program and exits with status 1.
func Serve(p sdk.Plugin) {
	if os.Getenv(guest.CookieKey) != guest.CookieValue {
		if !guest.ByHand(p, os.Args, os.Stdout, os.Stderr) {
			os.Exit(1)
		}
		return
	}
	debug.SetMaxStack(maxStack)
	stream, stdout := connection()
	s := newServer(p, jsonline.New(stream))
	if _, err := fmt.Fprintf(stdout, "1|%d|stdio||jsonrpc|\n", guest.ProtocolVersion); err != nil {
		os.Exit(1)
	}
	s.serve()
}

// connection returns the connection and the standard output. If they are the same, other output goes to stderr.
func connection() (io.ReadWriteCloser, io.Writer) {
	if os.Getenv(linesEnv) == linesStdio {
		stdout := os.Stdout
		os.Stdout = os.Stderr
		return stdio{os.Stdin, stdout}, stdout
	}
	file := openFile(linesFile)
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin) // the host holds the other end and never writes to it
		_ = file.Close()
	}()
	return file, os.Stdout
}

// stdio is a connection over the standard streams.
type stdio struct {
	io.ReadCloser
	io.Writer
}

// serve answers calls until the connection ends, and closes the plugin.
func (s *server) serve() {
	_ = s.conn.Serve(s.handle) // the host knows the reason
	s.conn.Close()
	s.end()
	s.guest.CloseAlone(s.log)
}

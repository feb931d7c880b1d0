package mcp

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/internal/visible"
)

const (
	// maxLogBytes is the size at which a log is rotated; only one old log is kept.
	maxLogBytes = 1 << 20
	// maxLogLine is the maximum length of a log line in bytes.
	maxLogLine = 4 << 10
	// tailBytes is the size of a server's last output that is included in an error.
	tailBytes = 512
)

// LogPath returns the log of a server: its standard error, and the invalid lines of its output. dir is
// Options.Dir. The previous part has the same name with the suffix ".1".
func LogPath(dir string, s Server) string { return filepath.Join(dir, s.PluginName()+".log") }

// serverLog is the log of one server, of limited size. It is safe for concurrent use. Write errors are ignored:
// a full disk must not stop a server.
type serverLog struct {
	path    string
	secrets []string

	mu   sync.Mutex
	file *os.File
	size int64
	line []byte // the current line
	tail []byte
}

// newServerLog returns the log of a server at path. It masks the secrets in the server's configuration.
func newServerLog(path string, s Server) *serverLog {
	return &serverLog{path: path, secrets: s.secrets()}
}

// Mask returns text with the secrets in the server's configuration masked.
func (s *Server) Mask(text string) string { return secret.Hide(text, s.secrets()) }

// secrets returns the secrets: values of variables and headers, and secrets in the arguments and the URL;
// longest first.
func (s *Server) secrets() []string {
	all := append(secret.InArgs(s.Args), secret.InURL(s.URL)...)
	all = slices.AppendSeq(all, maps.Values(s.Env))
	for _, value := range s.Headers {
		_, credential, _ := strings.Cut(value, " ")
		all = append(all, value, credential)
	}
	all = slices.DeleteFunc(all, func(v string) bool { return len(v) < secret.MinLength || filepath.IsAbs(v) })
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(all)
}

// Write logs the server's standard error.
func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = []byte(secret.Hide(string(append(l.tail, p...)), l.secrets)) // before it is cut
	if extra := len(l.tail) - tailBytes; extra > 0 {
		l.tail = append(l.tail[:0], l.tail[extra:]...)
	}
	for rest := p; len(rest) > 0; {
		piece, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := maxLogLine - len(l.line); room > 0 {
			l.line = append(l.line, piece[:min(len(piece), room)]...)
		}
		if ended {
			l.put(l.line)
			l.line = l.line[:0]
		}
		rest = after
	}
	return len(p), nil
}

// Print writes a line of tenon about a message of the server.
func (l *serverLog) Print(what string, raw []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(fmt.Appendf(nil, "[tenon] %s: %s", what, raw[:min(len(raw), maxLogLine)]))
}

// put appends a line; l.mu is held.
func (l *serverLog) put(line []byte) {
	if l.file == nil || l.size > maxLogBytes {
		l.open()
	}
	if l.file == nil {
		return
	}
	n, _ := fmt.Fprintf(l.file, "%s %s\n", time.Now().UTC().Format(time.RFC3339), visible.Strip(secret.Hide(string(line), l.secrets)))
	l.size += int64(n)
}

// open opens the log and rotates it if it is full.
func (l *serverLog) open() {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
	_ = os.MkdirAll(filepath.Dir(l.path), 0o700) // without the directory the file cannot be opened either
	if info, err := os.Stat(l.path); err == nil && info.Size() > maxLogBytes {
		_ = os.Rename(l.path, l.path+".1")
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	l.file, l.size = file, 0
	if info, err := file.Stat(); err == nil {
		l.size = info.Size()
	}
}

// LastWords returns the server's last output as the end of an error, and clears it.
func (l *serverLog) LastWords() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(visible.Strip(string(l.tail)))
	l.tail = nil
	if text == "" {
		return ""
	}
	return "; its output: " + text
}

// close closes the file; a later line opens it again.
func (l *serverLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}

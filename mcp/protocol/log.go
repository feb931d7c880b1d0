package protocol

import (
	"fmt"
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
	// tailBytes is the size of a server's last output that is included in an error. Node prints the cause before the stack, of 1 KiB and more.
	tailBytes = 2 << 10
)

// Log is the log of a server: its standard error, and the invalid lines of its output. Its size is limited by rotation: the previous log
// has the same name with the suffix ".1". It is safe for concurrent use. Write errors are ignored: a full disk must not stop a server.
type Log struct {
	path    string
	secrets []string

	mu    sync.Mutex
	file  *os.File
	size  int64
	lines visible.Lines
	tail  []byte
}

// NewLog returns the log at path. The log masks the secrets, which are sorted with the longest first.
func NewLog(path string, secrets []string) *Log {
	l := &Log{path: path, secrets: secrets}
	l.lines.Take = l.put
	return l
}

// Write logs the server's standard error.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = []byte(secret.Hide(string(append(l.tail, p...)), l.secrets)) // before it is cut
	l.tail = l.tail[max(0, len(l.tail)-tailBytes):]
	l.lines.Write(p)
	return len(p), nil
}

// Print writes tenon's own line about a message of the server.
func (l *Log) Print(what string, raw []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(fmt.Appendf(nil, "[tenon] %s: %s", what, raw[:min(len(raw), visible.MaxLine)]))
}

// put appends a line; l.mu is held.
func (l *Log) put(line []byte) {
	if l.file == nil || l.size > maxLogBytes {
		l.open()
	}
	n, _ := fmt.Fprintf(l.file, "%s %s\n", time.Now().UTC().Format(time.RFC3339), visible.Strip(secret.Hide(string(line), l.secrets)))
	l.size += int64(n)
}

// open opens the log and rotates it if it is full; l.mu is held.
func (l *Log) open() {
	l.shut()
	_ = os.MkdirAll(filepath.Dir(l.path), 0o700) // without the directory the file cannot be opened either
	if info, err := os.Stat(l.path); err == nil && info.Size() > maxLogBytes {
		_ = os.Rename(l.path, l.path+".1")
	}
	l.file, _ = os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	l.size = 0
	if info, err := l.file.Stat(); err == nil {
		l.size = info.Size()
	}
}

// LastWords returns the server's last output, to be appended to an error, and forgets it. It also ends an
// unfinished line in the log.
func (l *Log) LastWords() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines.Flush()
	lines := slices.DeleteFunc(strings.Split(visible.Strip(string(l.tail)), "\n"), func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "at ") // a line of a stack trace
	})
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	l.tail = nil
	if text == "" {
		return ""
	}
	return "; its output: " + text
}

// Close closes the file; a later line opens it again.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shut()
}

func (l *Log) shut() {
	_ = l.file.Close() // a nil file is fine
	l.file = nil
}

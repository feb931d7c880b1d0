package shell

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// Limits of the stored output: its beginning and its end. The host shortens it further for the conversation.
const (
	headBytes = 512 << 10
	tailBytes = 512 << 10
	liveBytes = 30000 // shown while the command runs, as in opencode
)

// output keeps the beginning and the end of the text written to it, in bounded memory. It is safe for concurrent use; the zero value is
// ready.
type output struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte // at most 2*tailBytes; the last tailBytes of it count
	total int64
	shown int64 // total at the last call of news
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	o.total += int64(n)
	if free := headBytes - len(o.head); free > 0 {
		k := min(free, len(p))
		o.head = append(o.head, p[:k]...)
		p = p[k:]
	}
	if len(p) > tailBytes {
		p = p[len(p)-tailBytes:]
	}
	if len(o.tail)+len(p) > 2*tailBytes {
		o.tail = o.tail[:copy(o.tail, o.tail[len(o.tail)-tailBytes:])]
	}
	o.tail = append(o.tail, p...)
	return n, nil
}

// news returns the end of the text, at most n bytes of it, and whether it has grown since the last call.
func (o *output) news(n int) (end string, grown bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.total == o.shown {
		return "", false
	}
	o.shown = o.total
	return o.end(n), true
}

// String returns the text. If its middle is missing, a line tells how much.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	tail := o.tail[max(0, len(o.tail)-tailBytes):]
	left := o.total - int64(len(o.head)) - int64(len(tail))
	if left == 0 {
		return readable(string(o.head) + string(tail))
	}
	return readable(string(o.head)) + fmt.Sprintf("\n\n[... %d bytes left out ...]\n\n", left) + readable(string(tail))
}

// last returns the end of the text, at most n bytes of it.
func (o *output) last(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.end(n)
}

// end is last while o.mu is held.
func (o *output) end(n int) string {
	text := o.tail[max(0, len(o.tail)-n):]
	if missing := n - len(text); missing > 0 {
		text = append(append([]byte(nil), o.head[max(0, len(o.head)-missing):]...), text...)
	}
	if int64(len(text)) < o.total {
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
	}
	return readable(string(text))
}

// readable replaces invalid UTF-8, and NUL, which some servers refuse, with U+FFFD.
func readable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.ReplaceAll(text, "\x00", "\uFFFD")
}

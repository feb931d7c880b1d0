package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"sync"
	"time"
)

// NewLogger returns a logger that passes each line to send, with its attributes as a JSON object; nil without any.
func NewLogger(send func(level slog.Level, message string, attributes json.RawMessage)) *slog.Logger {
	return newLogger(func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewJSONHandler(w, o) }, func(level slog.Level, message string, attributes []byte) {
		if string(attributes) == "{}" {
			attributes = nil
		}
		send(level, message, attributes)
	})
}

// NewTextLogger is NewLogger with attributes of the form: key=value key="another value".
func NewTextLogger(send func(level slog.Level, message string, attributes []byte)) *slog.Logger {
	return newLogger(func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) }, send)
}

func newLogger(format func(io.Writer, *slog.HandlerOptions) slog.Handler, send func(slog.Level, string, []byte)) *slog.Logger {
	h := &logHandler{send: send, mu: &sync.Mutex{}, line: &bytes.Buffer{}}
	h.Handler = format(h.line, &slog.HandlerOptions{Level: slog.Level(math.MinInt), ReplaceAttr: onlyAttributes})
	return slog.New(h)
}

// logHandler sends the plugin's log lines to the host, which filters by level.
type logHandler struct {
	slog.Handler // writes the attributes of a line
	send         func(level slog.Level, message string, attributes []byte)

	mu   *sync.Mutex
	line *bytes.Buffer
}

// Handle sends one line: the beginning of a long message, and no attributes if they are long. The attributes are a copy.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	message := r.Message
	r.Time, r.Message = time.Time{}, noMessage // a zero time is omitted
	h.mu.Lock()
	h.line.Reset()
	err := h.Handler.Handle(ctx, r)
	line := bytes.Clone(bytes.TrimSpace(h.line.Bytes()))
	h.mu.Unlock()
	if len(line) > maxLogged {
		line = nil
	}
	h.send(r.Level, message[:min(len(message), maxLogged)], line)
	return err
}

// maxLogged is the maximum size of a message, and of its attributes, in bytes. Hosts keep less, and end a process that sends more than MaxMessage.
const maxLogged = 1 << 20

// WithAttrs returns a handler that adds the attributes to each line.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.Handler = h.Handler.WithAttrs(attrs)
	return &with
}

// WithGroup returns a handler whose later attributes are in a group.
func (h *logHandler) WithGroup(name string) slog.Handler {
	with := *h
	with.Handler = h.Handler.WithGroup(name)
	return &with
}

// noMessage replaces the message, to distinguish it from an attribute of that name.
const noMessage = "\x00"

// onlyAttributes removes the fields that handlers add to the attributes of a line. Durations become text such as 2s.
func onlyAttributes(groups []string, a slog.Attr) slog.Attr {
	_, level := a.Value.Any().(slog.Level)
	switch {
	case len(groups) == 0 && (a.Key == slog.LevelKey && level || a.Key == slog.MessageKey && a.Value.String() == noMessage):
		return slog.Attr{}
	case a.Value.Kind() == slog.KindDuration:
		return slog.String(a.Key, a.Value.String())
	}
	return a
}

package wasm

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
)

// logHandler writes lines of the form: message key=value key="another value". Time and plugin are the host's business.
type logHandler struct {
	write func(level int32, text []byte)
	attrs []byte // of With, ready to append
	group string // prefix of keys, with its dot
}

var _ slog.Handler = (*logHandler)(nil)

// Enabled returns true: the host filters by level.
func (*logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes one line.
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	line := append([]byte(r.Message), h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		line = appendAttr(line, h.group, a)
		return true
	})
	h.write(int32(r.Level), line)
	return nil
}

// WithAttrs returns a handler that adds the attributes to each line.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = append([]byte(nil), h.attrs...)
	for _, a := range attrs {
		with.attrs = appendAttr(with.attrs, h.group, a)
	}
	return &with
}

// WithGroup returns a handler that puts the name before the keys that follow.
func (h *logHandler) WithGroup(name string) slog.Handler {
	with := *h
	if name != "" {
		with.group += name + "."
	}
	return &with
}

func appendAttr(line []byte, group string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			line = appendAttr(line, group, inner)
		}
		return line
	}
	if a.Key == "" {
		return line
	}
	line = append(line, ' ')
	line = append(append(line, group...), a.Key...)
	line = append(line, '=')
	text := v.String()
	if text == "" || strings.ContainsAny(text, " =\"\n\r\t") {
		return strconv.AppendQuote(line, text)
	}
	return append(line, text...)
}

package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
)

// NewLogger returns a logger that sends each line to the host. attrs encode as JSON.
func NewLogger(send func(level slog.Level, message string, attrs map[string]any)) *slog.Logger {
	return NewLineLogger(func(level slog.Level, message string, attrs []slog.Attr) {
		values := make(map[string]any, len(attrs))
		for _, a := range attrs {
			values[a.Key] = jsonValue(a.Value)
		}
		send(level, message, values)
	})
}

// NewLineLogger returns a logger that sends each line to the host. The names of attrs in groups have those of the groups, with dots.
func NewLineLogger(send func(level slog.Level, message string, attrs []slog.Attr)) *slog.Logger {
	return slog.New(&logHandler{send: send})
}

// logHandler sends what the plugin logs to the host.
type logHandler struct {
	send  func(level slog.Level, message string, attrs []slog.Attr)
	attrs []slog.Attr // of With
	group string      // prefix of names, with its dot
}

var _ slog.Handler = (*logHandler)(nil)

// Enabled returns true: the host filters by level.
func (*logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle sends one line.
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = appendAttr(attrs, h.group, a)
		return true
	})
	h.send(r.Level, r.Message, attrs)
	return nil
}

// WithAttrs returns a handler that adds the attributes to each line.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		with.attrs = appendAttr(with.attrs, h.group, a)
	}
	return &with
}

// WithGroup returns a handler that puts the name before the names that follow.
func (h *logHandler) WithGroup(name string) slog.Handler {
	with := *h
	if name != "" {
		with.group += name + "."
	}
	return &with
}

// appendAttr adds an attribute, or those of a group, with the names of the groups.
func appendAttr(list []slog.Attr, group string, a slog.Attr) []slog.Attr {
	v := a.Value.Resolve()
	switch {
	case v.Kind() == slog.KindGroup:
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			list = appendAttr(list, group, inner)
		}
	case a.Key != "":
		list = append(list, slog.Attr{Key: group + a.Key, Value: v})
	}
	return list
}

// jsonValue returns a value that encodes as JSON: errors and what does not encode become text.
func jsonValue(v slog.Value) any {
	switch v.Kind() {
	case slog.KindBool, slog.KindInt64, slog.KindUint64, slog.KindString:
		return v.Any()
	case slog.KindAny:
	default: // durations, times, numbers that JSON may not have
		return v.String()
	}
	if err, ok := v.Any().(error); ok {
		return err.Error()
	}
	body, err := json.Marshal(v.Any())
	if err != nil {
		return fmt.Sprintf("%+v", v.Any())
	}
	return json.RawMessage(body)
}

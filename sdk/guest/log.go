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
	return NewLineLogger(jsonValue, func(level slog.Level, message string, attrs []slog.Attr) {
		values := make(map[string]any, len(attrs))
		for _, a := range attrs {
			values[a.Key] = a.Value.Any()
		}
		send(level, message, values)
	})
}

// NewLineLogger returns a logger that sends each line to the host. The names of attrs in groups have those of the groups, with dots.
// convert makes their values; those of With are converted once, so that later changes by the plugin do not reach the log.
func NewLineLogger(convert func(slog.Value) slog.Value, send func(level slog.Level, message string, attrs []slog.Attr)) *slog.Logger {
	return slog.New(&logHandler{convert: convert, send: send})
}

// logHandler sends what the plugin logs to the host.
type logHandler struct {
	convert func(slog.Value) slog.Value
	send    func(level slog.Level, message string, attrs []slog.Attr)
	attrs   []slog.Attr // of With, converted
	group   string      // prefix of names, with its dot
}

var _ slog.Handler = (*logHandler)(nil)

// Enabled returns true: the host filters by level.
func (*logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle sends one line.
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = h.append(attrs, h.group, a)
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
		with.attrs = h.append(with.attrs, h.group, a)
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

// append adds an attribute, or those of a group, with the names of the groups.
func (h *logHandler) append(list []slog.Attr, group string, a slog.Attr) []slog.Attr {
	v := a.Value.Resolve()
	switch {
	case v.Kind() == slog.KindGroup:
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			list = h.append(list, group, inner)
		}
	case a.Key != "":
		list = append(list, slog.Attr{Key: group + a.Key, Value: h.convert(v)})
	}
	return list
}

// jsonValue returns a value that encodes as JSON: errors and what does not encode become text.
func jsonValue(v slog.Value) slog.Value {
	switch v.Kind() {
	case slog.KindBool, slog.KindInt64, slog.KindUint64, slog.KindString:
		return v
	case slog.KindAny:
	default: // durations, times, numbers that JSON may not have
		return slog.StringValue(v.String())
	}
	if err, ok := v.Any().(error); ok {
		return slog.StringValue(err.Error())
	}
	body, err := json.Marshal(v.Any())
	if err != nil {
		return slog.StringValue(fmt.Sprintf("%+v", v.Any()))
	}
	return slog.AnyValue(json.RawMessage(body))
}

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

// NewLineLogger returns a logger that sends each line to the host. The name of an attribute in groups begins with the names of the groups, each
// followed by a dot. convert converts the values. Those of With are converted once, so that later changes by the plugin have no effect.
func NewLineLogger(convert func(slog.Value) slog.Value, send func(level slog.Level, message string, attrs []slog.Attr)) *slog.Logger {
	return slog.New(&logHandler{convert: convert, send: send})
}

// logHandler sends the plugin's log lines to the host.
type logHandler struct {
	convert func(slog.Value) slog.Value
	send    func(level slog.Level, message string, attrs []slog.Attr)
	attrs   []slog.Attr // the converted attributes of With
	group   string      // prefix of names, including the dot
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

// WithGroup returns a handler that adds the name to the prefix of later names.
func (h *logHandler) WithGroup(name string) slog.Handler {
	with := *h
	if name != "" {
		with.group += name + "."
	}
	return &with
}

// append adds an attribute, or the attributes of a group, with their prefixes.
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

// jsonValue returns a value that can be encoded as JSON: errors and other values become text.
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

package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
)

// NewLogger returns a logger that sends each line to the host. attrs encode as JSON.
func NewLogger(send func(level slog.Level, message string, attrs map[string]any)) *slog.Logger {
	return slog.New(&logHandler{send: send})
}

// logHandler sends what the plugin logs to the host.
type logHandler struct {
	send  func(level slog.Level, message string, attrs map[string]any)
	attrs map[string]any // of With
	group string         // prefix of names, with its dot
}

var _ slog.Handler = (*logHandler)(nil)

// Enabled returns true: the host filters by level.
func (*logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle sends one line.
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := map[string]any{}
	maps.Copy(attrs, h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		addAttr(attrs, h.group, a)
		return true
	})
	h.send(r.Level, r.Message, attrs)
	return nil
}

// WithAttrs returns a handler that adds the attributes to each line.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := &logHandler{send: h.send, attrs: map[string]any{}, group: h.group}
	maps.Copy(with.attrs, h.attrs)
	for _, a := range attrs {
		addAttr(with.attrs, h.group, a)
	}
	return with
}

// WithGroup returns a handler that puts the name before the names that follow.
func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &logHandler{send: h.send, attrs: h.attrs, group: h.group + name + "."}
}

func addAttr(to map[string]any, group string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			addAttr(to, group, inner)
		}
		return
	}
	if a.Key == "" {
		return
	}
	switch v.Kind() {
	case slog.KindBool, slog.KindInt64, slog.KindUint64, slog.KindString:
		to[group+a.Key] = v.Any()
	case slog.KindAny:
		to[group+a.Key] = anyAttr(v.Any())
	default: // durations, times, numbers that JSON may not have
		to[group+a.Key] = v.String()
	}
}

// anyAttr returns a value that encodes as JSON: errors and what does not encode become text.
func anyAttr(v any) any {
	if err, ok := v.(error); ok {
		return err.Error()
	}
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return json.RawMessage(body)
}

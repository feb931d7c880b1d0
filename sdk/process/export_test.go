package process

import "log/slog"

// NewLogHandler returns the handler whose lines go to send.
func NewLogHandler(send func(slog.Level, string, map[string]any)) slog.Handler {
	return &logHandler{send: send}
}

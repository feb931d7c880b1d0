package wasm

import (
	"log/slog"

	"github.com/tenonhq/tenon/sdk/guest"
)

// newLogger returns a logger that writes lines of the form: message key=value key="another value". The host adds the time and the plugin.
func newLogger(write func(level int32, text []byte)) *slog.Logger {
	return guest.NewTextLogger(func(level slog.Level, message string, attributes []byte) {
		line := []byte(message)
		if len(attributes) > 0 {
			line = append(append(line, ' '), attributes...)
		}
		write(int32(level), line)
	})
}

package wasm

import (
	"log/slog"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/sdk/guest"
)

// newLogger returns a logger that writes lines of the form: message key=value key="another value". The host adds the time and the plugin.
func newLogger(write func(level int32, text []byte)) *slog.Logger {
	text := func(v slog.Value) slog.Value { return slog.StringValue(v.String()) }
	return guest.NewLineLogger(text, func(level slog.Level, message string, attrs []slog.Attr) {
		line := []byte(message)
		for _, a := range attrs {
			line = append(line, ' ')
			line = append(line, a.Key...)
			line = append(line, '=')
			text := a.Value.String()
			if text == "" || strings.ContainsAny(text, " =\"\n\r\t") {
				line = strconv.AppendQuote(line, text)
			} else {
				line = append(line, text...)
			}
		}
		write(int32(level), line)
	})
}

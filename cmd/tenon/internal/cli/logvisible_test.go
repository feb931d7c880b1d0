package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestLogIsVisible: no part of a record controls the terminal.
func TestLogIsVisible(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[2J\u202e\x9b"
	var out bytes.Buffer
	log := newLogger(&out, &slog.LevelVar{})
	log.With("with"+evil, evil).Warn("message "+evil, "text", evil, "error", errors.New(evil), "any", []string{evil}, slog.Group("group", "key"+evil, evil))
	if strings.ContainsAny(out.String(), "\x1b\u202e\u009b") || strings.Contains(out.String(), "\x9b") {
		t.Errorf("the log shows %q", out.String())
	}
	if n := strings.Count(out.String(), "[2J"); n != 8 {
		t.Errorf("%q shows the text %d times, want 8", out.String(), n)
	}
}

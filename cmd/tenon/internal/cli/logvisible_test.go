package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
)

// TestLogIsVisible: no part of a record controls the terminal, or begins a line as a record does.
func TestLogIsVisible(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[2J\u202e\x9b\nWARN all is well"
	var out bytes.Buffer
	log := newLogger(&out, slog.LevelInfo)
	log.With("with"+evil, evil).Warn("message "+evil, "text", evil, "error", errors.New(evil), "any", []string{evil}, slog.Group("group", "key"+evil, evil))
	if strings.ContainsAny(out.String(), "\x1b\u202e\u009b") || strings.Contains(out.String(), "\x9b") || strings.Contains(out.String(), "\nWARN") {
		t.Errorf("the log shows %q", out.String())
	}
}

// A line to the user and a table show text from outside as it is, and it controls nothing.
func TestSayIsVisible(t *testing.T) {
	t.Parallel()
	const evil = "a\x1b[2Jb\rc"
	var out bytes.Buffer
	a := &App{Screen: &terminal.Screen{Out: &out}}
	a.Say("removed %s\nand %d more", evil, 2)
	table := &view.Table{Indent: "  "}
	table.Add("name", "1")
	table.Add(evil+"\n", "2")
	want := `removed a\u{1b}[2Jb\u{d}c` + "\nand 2 more\n" + "  name               1\n" + `  a\u{1b}[2Jb\u{d}c  2` + "\n"
	if have := out.String() + table.Text(0); have != want {
		t.Errorf("shown as %q, want %q", have, want)
	}
}

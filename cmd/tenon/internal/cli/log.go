package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"

	charm "charm.land/log/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/jsontext"
)

func parseLevel(s string) (level slog.Level, err error) {
	if s == "trace" {
		return hooks.LevelTrace, nil
	}
	if level.UnmarshalText([]byte(s)) != nil {
		err = UsageError("use trace, debug, info, warn or error", "unknown log level %q", s)
	}
	return level, err
}

// visibleWriter writes records in a form that cannot control the terminal. Lines after the first are indented: a text from outside must not look
// like another record.
type visibleWriter struct{ io.Writer }

// Write writes a record.
func (v visibleWriter) Write(p []byte) (int, error) {
	text := strings.TrimSuffix(terminal.Visible(terminal.StripSGR(string(p))), "\n")
	_, err := io.WriteString(v.Writer, indented(text)+"\n")
	return len(p), err
}

func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// newLogger returns a logger that writes human-readable lines to w.
func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(charm.NewWithOptions(visibleWriter{w}, charm.Options{Level: charm.Level(level)}))
}

// SetLevel sets the minimum level of log messages from now on.
func (a *App) SetLevel(level slog.Level) { a.Level, a.Log = level, newLogger(a.Mask, level) }

// masked replaces secrets.
const masked = "********"

// minSecret is the minimum length, in bytes, of a secret. Masking shorter values would hit harmless text.
const minSecret = 8

// maskWriter replaces secrets in everything it writes. Each Write must be a whole record.
type maskWriter struct {
	w io.Writer

	mu       sync.Mutex
	secrets  []string // longest first
	replacer *strings.Replacer
}

// hide adds secrets.
func (m *maskWriter) hide(secrets []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := len(m.secrets)
	for _, s := range secrets {
		if len(s) >= minSecret && !slices.Contains(m.secrets, s) {
			m.secrets = append(m.secrets, s)
		}
	}
	if m.replacer != nil && len(m.secrets) == known {
		return // as at most requests
	}
	slices.SortStableFunc(m.secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range m.secrets {
		// The log quotes values with unusual characters, so secrets appear there in quoted form, or with their lines indented.
		// Data of hooks are JSON, which is quoted there, too.
		plain, _ := jsontext.Marshal(s) // a text always encodes
		escaped, _ := json.Marshal(s)   // with <, > and & escaped
		for _, form := range []string{s, string(plain), string(escaped)} {
			form = strings.Trim(form, `"`)
			pairs = append(pairs, form, masked, strings.Trim(fmt.Sprintf("%q", form), `"`), masked)
		}
		pairs = append(pairs, indented(s), masked)
	}
	m.replacer = strings.NewReplacer(pairs...)
}

// Clean returns the text without the secrets.
func (m *maskWriter) Clean(text string) string {
	m.mu.Lock()
	r := m.replacer
	m.mu.Unlock()
	return r.Replace(text)
}

// Write writes p without the secrets.
func (m *maskWriter) Write(p []byte) (int, error) {
	m.mu.Lock()
	w := m.w
	m.mu.Unlock()
	if _, err := io.WriteString(w, m.Clean(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Divert writes the log, errors and lines about the process to w, without secrets, until restore is called. A full-screen program uses it,
// because it owns the terminal.
func (a *App) Divert(w io.Writer) (restore func()) {
	log, screen := a.Mask.divert(w), a.Screen.Divert(w)
	return func() {
		a.Mask.divert(log)
		a.Screen.Divert(screen)
	}
}

// divert redirects the output to w, and returns the previous writer.
func (m *maskWriter) divert(w io.Writer) (was io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, m.w = m.w, w
	return was
}

// environSecrets returns the values of environment variables whose names suggest keys. The configuration may not mention them, but a
// server may repeat them in an error.
func environSecrets(env environ) []string {
	var out []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		name = strings.ToUpper(name)
		if slices.ContainsFunc([]string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD"}, func(end string) bool { return strings.HasSuffix(name, end) }) {
			out = append(out, value)
		}
	}
	return out
}

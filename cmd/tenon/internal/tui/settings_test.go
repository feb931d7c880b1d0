package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/settings"
)

// Other terminals change the same file while this one runs.
func TestOtherSettingsAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), settings.FileName)
	m, _ := testModel(t, 80, 24)
	m.o.explain = func(err error) string { return err.Error() }
	m.o.settingsFile = path
	store := func(content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change := func(cmd tea.Cmd, want string) {
		t.Helper()
		for _, msg := range messages(cmd) {
			m.Update(msg)
		}
		if have, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(have)) != want {
			t.Errorf("file %q, %v, want %q", have, err, want)
		}
	}
	store(`{"theme":"dark","pinned":["other"]}`)
	change(m.pin("mine", true), `{"theme":"dark","pinned":["other","mine"]}`)
	change(m.themePicker().(*dialog.Picker).Choose(dialog.Row{ID: "light"}), `{"theme":"light","pinned":["other","mine"]}`)
	change(m.toggleMouse(), `{"theme":"light","noMouse":true,"pinned":["other","mine"]}`)
	m.open(m.sessionPicker(nil))
	picker := m.top().(*dialog.Picker)
	change(m.deleted(picker, "other"), `{"theme":"light","noMouse":true,"pinned":["other","mine"]}`)
	change(m.deleted(picker, "mine"), `{"theme":"light","noMouse":true,"pinned":["other"]}`)
	store(`{"theme`)
	if change(m.pin("mine", true), `{"theme`); !strings.Contains(m.toast.text, "not stored") {
		t.Errorf("toast %q", m.toast.text)
	}
}

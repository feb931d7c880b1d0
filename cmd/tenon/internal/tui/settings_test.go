package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	change := func(f func(), want string) {
		t.Helper()
		for _, msg := range messages(m.startedBy(f)) {
			m.Update(msg)
		}
		if have, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(have)) != want {
			t.Errorf("file %q, %v, want %q", have, err, want)
		}
	}
	store(`{"theme":"dark","pinned":["other"]}`)
	change(func() { m.pin("mine", true) }, `{"theme":"dark","pinned":["other","mine"]}`)
	m.chooseTheme()
	change(func() { m.top().(*dialog.Picker).Choose(dialog.Row{ID: "light"}) }, `{"theme":"light","pinned":["other","mine"]}`)
	change(m.toggleMouse, `{"theme":"light","noMouse":true,"pinned":["other","mine"]}`)
	m.open(m.sessionPicker(nil))
	picker := m.top().(*dialog.Picker)
	change(func() { m.deleted(picker, "other") }, `{"theme":"light","noMouse":true,"pinned":["other","mine"]}`)
	change(func() { m.deleted(picker, "mine") }, `{"theme":"light","noMouse":true,"pinned":["other"]}`)
	store(`{"theme`)
	if change(func() { m.pin("mine", true) }, `{"theme`); !strings.Contains(m.toast.text, "not stored") {
		t.Errorf("toast %q", m.toast.text)
	}
}

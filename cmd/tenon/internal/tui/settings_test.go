package tui

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
)

// Other terminals change the same file while this one runs.
func TestOtherSettingsAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), settingsFile)
	m, _ := testModel(t, 80, 24)
	m.o.explain = func(err error) string { return err.Error() }
	m.o.keep = (&settingsKeeper{path: path}).change
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
	change(m.chooseTheme("light"), `{"theme":"light","pinned":["other","mine"]}`)
	change(m.toggleMouse(), `{"theme":"light","noMouse":true,"pinned":["other","mine"]}`)
	m.Update(sessionsMsg{})
	deleted := deletedMsg{m.top().(*dialog.Picker), "other"}
	change(m.sessionChanged(deleted), `{"theme":"light","noMouse":true,"pinned":["other","mine"]}`)
	deleted.id = "mine"
	change(m.sessionChanged(deleted), `{"theme":"light","noMouse":true,"pinned":["other"]}`)
	store(`{"theme`)
	if change(m.pin("mine", true), `{"theme`); !strings.Contains(m.toast.text, "not stored") {
		t.Errorf("toast %q", m.toast.text)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"theme": "dark", "noMouse": true}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), settingsFile)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := readSettings(path)
		if err != nil {
			if !reflect.DeepEqual(s, settings{}) {
				t.Errorf("an invalid file gives %+v", s)
			}
			return
		}
		if err := s.write(path); err != nil {
			t.Fatal(err)
		}
		if again, err := readSettings(path); err != nil || len(data) < 1<<10 && again.NoMouse != s.NoMouse {
			t.Errorf("read again: %+v, %v", again, err)
		}
	})
}

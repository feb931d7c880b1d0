package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
)

// Other terminals change the same file while this one runs.
func TestOtherSettingsAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), settingsFile)
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
	change(m.chooseTheme("light"), `{"theme":"light","pinned":["other","mine"]}`)
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

// Two processes that change the settings at the same moment both count.
func TestParallelChangesAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), settingsFile)
	var want []string
	var changes sync.WaitGroup
	for i := range 50 {
		id := fmt.Sprintf("ses_%02d", i)
		want = append(want, id)
		changes.Go(func() {
			if err := changeSettings(t.Context(), path, func(s *settings) { s.Pinned = append(s.Pinned, id) }); err != nil {
				t.Error(err)
			}
		})
	}
	changes.Wait()
	s, err := readSettings(path)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(s.Pinned)
	if diff := cmp.Diff(want, s.Pinned); diff != "" {
		t.Errorf("pinned (-want +have):\n%s", diff)
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

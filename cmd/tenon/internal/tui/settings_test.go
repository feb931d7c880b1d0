package tui

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

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

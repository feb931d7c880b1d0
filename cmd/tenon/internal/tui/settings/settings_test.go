package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Two processes that change the settings at the same moment both count.
func TestParallelChangesAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), FileName)
	var want []string
	var changes sync.WaitGroup
	for i := range 50 {
		id := fmt.Sprintf("ses_%02d", i)
		want = append(want, id)
		changes.Go(func() {
			if err := Change(t.Context(), path, func(s *Settings) { s.Pinned = append(s.Pinned, id) }); err != nil {
				t.Error(err)
			}
		})
	}
	changes.Wait()
	s, err := Read(path)
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
		path := filepath.Join(t.TempDir(), FileName)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Read(path)
		if err != nil {
			if !reflect.DeepEqual(s, Settings{}) {
				t.Errorf("an invalid file gives %+v", s)
			}
			return
		}
		if err := Change(t.Context(), path, func(*Settings) {}); err != nil {
			t.Fatal(err)
		}
		if again, err := Read(path); err != nil || len(data) < 1<<10 && again.NoMouse != s.NoMouse {
			t.Errorf("read again: %+v, %v", again, err)
		}
	})
}

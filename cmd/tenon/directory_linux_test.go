package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// The sessions of a directory whose name is not UTF-8 are found there.
func TestDirectoryNotUTF8(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("First."), fakellm.Text("Second."))
	p := newProcess(t, s.URL())
	p.work = filepath.Join(p.work, "caf\xe9\xff")
	if err := os.Mkdir(p.work, 0o700); err != nil {
		t.Skipf("the file system takes only UTF-8: %v", err)
	}
	_, first := p.output(t, 0, "run", "--title", "one", "hi")
	_, second := p.output(t, 0, "run", "-c", "again")
	list, _ := p.output(t, 0, "session", "list")
	if notes := first + second; strings.Contains(notes, "started in") || strings.Count(list, "\n") != 2 {
		t.Errorf("notes: %s\nsessions:\n%s", notes, list)
	}
	p.output(t, 0, "session", "fork")
	if list, _ = p.output(t, 0, "session", "list"); strings.Count(list, "\n") != 3 {
		t.Errorf("with a fork:\n%s", list)
	}
	p.output(t, 0, "session", "export", "-o", "session.json", "--format", "json")
	p.output(t, 0, "session", "import", "--force", "session.json")
	if list, _ = p.output(t, 0, "session", "list"); strings.Count(list, "\n") != 3 {
		t.Errorf("with an imported session:\n%s", list)
	}
}

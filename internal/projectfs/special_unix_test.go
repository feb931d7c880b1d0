//go:build unix

package projectfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tenonhq/tenon/internal/projectfs"
)

func TestOpenRegular(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	regular := filepath.Join(dir, "regular")
	if err := os.WriteFile(regular, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		path string
		want error
	}{
		"regular":   {regular, nil},
		"fifo":      {fifo, projectfs.ErrSpecial},
		"device":    {"/dev/zero", projectfs.ErrSpecial},
		"directory": {dir, projectfs.ErrSpecial},
		"missing":   {filepath.Join(dir, "none"), fs.ErrNotExist},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, info, err := projectfs.OpenRegular(tt.path)
			if !errors.Is(err, tt.want) {
				t.Fatalf("OpenRegular(%q): error = %v, want %v", tt.path, err, tt.want)
			}
			if err != nil {
				return
			}
			defer f.Close()
			if info.Size() != 2 {
				t.Errorf("size = %d, want 2", info.Size())
			}
		})
	}
}

func TestDirBelow(t *testing.T) {
	t.Parallel()
	base, project := tree(t)
	link(t, "sub", filepath.Join(project, "inner"))
	link(t, filepath.Join(base, "out"), filepath.Join(project, "leak"))
	link(t, filepath.Join(base, "out", "f"), filepath.Join(project, "sub", "leak"))
	if err := syscall.Mkfifo(filepath.Join(project, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	top, err := projectfs.OpenDir([]string{project}, project)
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	for rel, opens := range map[string]bool{"": true, "sub": true, "sub/": true, "inner": true, "leak": false, "..": false, "fifo": false, "sub/f": false, "none": false} {
		d, err := top.DirBelow(rel)
		if (err == nil) != opens {
			t.Errorf("DirBelow(%q): error = %v, want one: %v", rel, err, !opens)
		}
		if err != nil {
			continue
		}
		if f, _, err := d.OpenBelow("leak"); err == nil {
			t.Errorf("in %q, a link out of the directory was followed", rel)
			_ = f.Close()
		}
		_ = d.Close()
	}
}

package archive_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenonhq/tenon/plugins/archive"
)

// TestPack: the same files have the same bytes, whatever their times and rights, and are read again as they were.
func TestPack(t *testing.T) {
	t.Parallel()
	make := func(mode os.FileMode, at time.Time) []byte {
		dir := t.TempDir()
		for name, content := range map[string]string{"plugin.json": "{}", "bin/run": "#!/bin/sh\n", ".git/config": "x", "sub/.git": "gitdir: x"} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(filepath.Join(dir, "bin/run"), mode|0o100); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("bin/run", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := archive.Pack(t.Context(), &b, archive.Directory{Path: dir}, "p"); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	first, second := make(0o600, time.Now()), make(0o444, time.Unix(1e9, 0))
	if !bytes.Equal(first, second) {
		t.Error("other times and rights change the archive")
	}
	dir := t.TempDir()
	f := archive.File{Format: archive.TarGzip, Data: bytes.NewReader(first), Size: int64(len(first))}
	content, err := f.Extract(t.Context(), dir)
	if err != nil || len(content.LeftOut) > 0 {
		t.Errorf("Extract() = %+v, %v", content, err)
	}
	info, err := os.Stat(filepath.Join(dir, "link"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("bin/run: %v, %v", info, err)
	}
}

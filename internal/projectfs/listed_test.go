package projectfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListed(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("sub/1", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sub/1/secret.txt", "sub/ключ"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// a file system that ignores case
	lstat := func(path string) (fs.FileInfo, error) { return os.Lstat(strings.ToLower(path)) }
	list := func(path string) ([]fs.DirEntry, error) { return os.ReadDir(strings.ToLower(path)) }
	for path, want := range map[string]string{
		"SUB/1/Secret.TXT": "sub/1/secret.txt", "Sub/1": "sub/1", "SUB/1/New.txt": "sub/1/New.txt", "sub/1/secret.txt": "sub/1/secret.txt", "SUB/КЛЮЧ": "sub/ключ",
	} {
		if got := filepath.ToSlash(listed("", filepath.FromSlash(path), lstat, list)); got != want {
			t.Errorf("listed(%s) = %s, want %s", path, got, want)
		}
	}
	if got := filepath.ToSlash(listed("SUB", filepath.FromSlash("SUB/1/SECRET.TXT"), lstat, list)); got != "SUB/1/secret.txt" {
		t.Errorf("below a root: %s", got)
	}
	if got := filepath.ToSlash(Listed("", "sub/1/secret.txt")); got != "sub/1/secret.txt" {
		t.Errorf("Listed = %s, want the same", got)
	}
}

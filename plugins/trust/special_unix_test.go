//go:build unix

package trust_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/trust"
)

func TestRefusesSpecialFiles(t *testing.T) {
	t.Parallel()
	t.Run("a pipe", func(t *testing.T) {
		t.Parallel()
		dir := files{"a": ""}.write(t)
		if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{dir, filepath.Join(dir, "pipe")} {
			_, err := trust.ReadTree(t.Context(), path)
			if !errors.Is(err, archive.ErrUnsafe) || !strings.Contains(err.Error(), "pipe: ") {
				t.Errorf("%s: error %v, want one that names the pipe", path, err)
			}
		}
	})
	t.Run("a socket", func(t *testing.T) {
		t.Parallel()
		dir, err := os.MkdirTemp("/tmp", "tenon") // the path of a socket has to be short
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		l, err := net.Listen("unix", filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if _, err := trust.ReadTree(t.Context(), dir); !errors.Is(err, archive.ErrUnsafe) || !strings.Contains(err.Error(), ": s: ") {
			t.Errorf("error %v, want one that names the socket", err)
		}
	})
	t.Run("a device", func(t *testing.T) {
		t.Parallel()
		if _, err := trust.ReadTree(t.Context(), "/dev/null"); !errors.Is(err, archive.ErrUnsafe) || !strings.Contains(err.Error(), "is a device") {
			t.Errorf("error %v, want one that says device", err)
		}
	})
}

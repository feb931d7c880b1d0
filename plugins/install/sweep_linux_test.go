package install_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/pins"
)

// TestAbandonedByAnother: what another user left behind cannot be deleted, and does not prevent an installation. It is not parallel: a
// thread ends in it, and with the thread any program that another test started from it (package child).
func TestAbandonedByAnother(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make files of another user")
	}
	in, before := installer(t, nil, ""), time.Now().Add(-25*time.Hour)
	old, module := filepath.Join(in.Temp, ".install-1"), filepath.Join(in.Home, "bare.wasm")
	err := errors.Join(os.MkdirAll(filepath.Join(old, "plugin"), 0o755), os.Chtimes(old, before, before), os.WriteFile(module, []byte("\x00asm\x01\x00\x00\x00"), 0o644),
		os.Chown(old, 65534, 65534))
	if err != nil {
		t.Fatal(err)
	}
	staged := make(chan error)
	go func() { // its thread ends with it: no other goroutine loses the privileges of root
		runtime.LockOSThread()
		err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &make([]unix.CapUserData, 2)[0])
		if err == nil {
			_, err = in.Stage(t.Context(), install.Target{Path: filepath.Join(in.Home, pins.Name)}, module, nil)
		}
		staged <- err
	}()
	if err := <-staged; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(old); errors.Is(err, fs.ErrNotExist) {
		t.Error("the directory of another user could be deleted")
	}
}

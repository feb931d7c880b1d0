//go:build unix

package files_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

func TestModeAndOwnerAreKept(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o644, 0o600, 0o755, 0o640, 0o666, 0o755 | os.ModeSetgid} {
		b := newBench(t)
		b.put("f", "a\n")
		if os.Getuid() == 0 {
			if err := os.Chown(b.path("f"), 1234, 2345); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(b.path("f"), mode); err != nil {
			t.Fatal(err)
		}
		before := stat(t, b.path("f"))
		b.read("f")
		b.edit("f", "a", "b")
		b.must("write", sdk.Object{"filePath": "f", "content": "c\n"})
		b.must("apply_patch", patch("*** Update File: f", "-c", "+d"))
		b.want("f", "d\n")
		after := stat(t, b.path("f"))
		if before.Mode != after.Mode || before.Uid != after.Uid || before.Gid != after.Gid {
			t.Errorf("mode, owner, group = %o, %d, %d, want %o, %d, %d", after.Mode, after.Uid, after.Gid, before.Mode, before.Uid, before.Gid)
		}
	}
}

func stat(t *testing.T, path string) syscall.Stat_t {
	t.Helper()
	var s syscall.Stat_t
	if err := syscall.Stat(path, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewFileHasUsualMode(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("write", sdk.Object{"filePath": "tool", "content": "x"})
	b.must("apply_patch", patch("*** Add File: patched", "+x"))
	if err := os.WriteFile(b.path("plain"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	want := stat(t, b.path("plain")).Mode
	for _, name := range []string{"tool", "patched"} {
		if got := stat(t, b.path(name)).Mode; got != want {
			t.Errorf("mode of %s = %o, want %o", name, got, want)
		}
	}
}

// A file that a patch deletes and adds again keeps its own mode, not that of a file that was moved to its path in between.
func TestModeAfterMoves(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", "a\n")
	b.put("x", "b\n")
	if err := os.Chmod(b.path("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := stat(t, b.path("f")).Mode
	b.read("f")
	b.read("x")
	b.must("apply_patch", patch("*** Delete File: f", "*** Update File: x", "*** Move to: f", "*** Delete File: f", "*** Add File: f", "+c"))
	b.want("f", "c\n")
	b.wantNames("f")
	if got := stat(t, b.path("f")).Mode; got != want {
		t.Errorf("mode = %o, want %o", got, want)
	}
}

func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", "a\n")
	b.read("f")
	if err := os.Chmod(b.path("f"), 0o444); err != nil {
		t.Fatal(err)
	}
	for id, args := range map[string]sdk.Object{
		"edit": edit("f", "a", "b"), "write": {"filePath": "f", "content": "b"},
		"apply_patch": patch("*** Add File: g", "+x", "*** Update File: f", "-a", "+b"),
	} {
		_, err := b.tool(id).Execute(context.Background(), b.call(id, args))
		if err == nil || !strings.Contains(err.Error(), "the file is unchanged: file is read-only (mode -r--r--r--)") {
			t.Errorf("%s: error = %v", id, err)
		}
	}
	b.want("f", "a\n")
	b.wantNames("f")
}

func TestSpecialFilesDoNotBlock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := syscall.Mkfifo(b.path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.fails("read", sdk.Object{"filePath": "fifo"}, "named pipe")
	b.fails("read", sdk.Object{"filePath": "/dev/zero"}, "device")
	b.fails("edit", edit("fifo", "a", "b"), "named pipe")
	b.fails("write", sdk.Object{"filePath": "fifo", "content": "x"}, "named pipe")
	b.fails("apply_patch", patch("*** Delete File: fifo"), "named pipe")
}

// TestNoSpace runs itself with a limit on the size of files, which makes writes fail half way as a full
// disk does.
func TestNoSpace(t *testing.T) {
	const child = "TENON_TEST_FILE_LIMIT"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNoSpace$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	b := newBench(t)
	b.put("f", strings.Repeat("x", 5000)+"\nend\n")
	b.put("g", "a\n")
	b.read("f")
	b.read("g")
	limit := syscall.Rlimit{Cur: 4096, Max: 1 << 40}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	limit.Max = old.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Skip(err)
	}
	var errs []error
	for id, args := range map[string]sdk.Object{
		"edit": edit("f", "end", "END"), "write": {"filePath": "dir/new", "content": strings.Repeat("y", 9000)},
		"apply_patch": patch("*** Update File: g", "-a", "+b", "*** Add File: other/h", "+"+strings.Repeat("z", 9000)),
	} {
		_, err := b.tool(id).Execute(context.Background(), b.call(id, args))
		errs = append(errs, err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	for _, err := range errs {
		if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "the file is unchanged") {
			t.Errorf("error = %v, want that the file is too large and unchanged", err)
		}
	}
	b.want("f", strings.Repeat("x", 5000)+"\nend\n")
	b.want("g", "a\n")
	b.wantNames("dir", "f", "g", "other") // an empty directory harms nothing
}

// TestReadersSeeWholeFiles reads a file over and over while it is edited.
func TestReadersSeeWholeFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	small, large := "a\n", strings.Repeat("b", 1<<17)+"\n"
	b.put("f", small)
	b.read("f")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 12 {
			content := small
			if i%2 == 0 {
				content = large
			}
			if _, err := b.tool("write").Execute(context.Background(), b.call("write", sdk.Object{"filePath": "f", "content": content})); err != nil {
				t.Error(err)
			}
		}
	}()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		content, err := os.ReadFile(b.path("f"))
		if err != nil || string(content) != small && string(content) != large {
			t.Fatalf("read %d bytes, %v", len(content), err)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

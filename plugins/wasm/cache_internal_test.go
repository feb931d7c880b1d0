package wasm

import (
	"bytes"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func testCache(t testing.TB) *cache {
	t.Helper()
	c := &cache{dir: filepath.Join(t.TempDir(), "cache"), limit: 1 << 20, log: slog.New(slog.DiscardHandler)}
	if err := c.open(); err != nil {
		t.Fatal(err)
	}
	return c
}

// A valid entry that wazero rejects, because it is of another version, is compiled again.
func TestForeignEntryIsCompiled(t *testing.T) {
	t.Parallel()
	wasm, err := os.ReadFile("testdata/counter.wasm")
	if err != nil {
		t.Fatal(err)
	}
	c := testCache(t)
	var digest [32]byte
	code, cached, err := c.compile(t.Context(), digest, 1024, func() ([]byte, error) { return wasm, nil })
	if err != nil || cached {
		t.Fatal(cached, err)
	}
	code.close(t.Context(), c.log)
	name := entryName(digest, 1024)
	dir := t.TempDir()
	stub, err := c.unpack(name, dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := written(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := files[0]
	native, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	otherVersion := bytes.Replace(native, []byte("WAZEVO\x03dev"), []byte("WAZEVO\x03dew"), 1)
	if bytes.Equal(otherVersion, native) {
		otherVersion = append([]byte("WAZEVO\x06v9.9.9"), native...) // wazero has a version here
	}
	for what, other := range map[string]struct {
		file   string
		native []byte
	}{
		"other processor": {path.Join(path.Dir(file), "00"+path.Base(file)[2:]), native},
		"other version":   {file, otherVersion},
		"no native code":  {file, nil},
	} {
		if err := c.write(name, stub, other.file, other.native); err != nil {
			t.Fatal(err)
		}
		code, cached, err := c.compile(t.Context(), digest, 1024, func() ([]byte, error) { return wasm, nil })
		if err != nil || cached {
			t.Errorf("%s: cached %v, error %v", what, cached, err)
			continue
		}
		code.close(t.Context(), c.log)
		code, cached, err = c.compile(t.Context(), digest, 1024, func() ([]byte, error) { return wasm, nil })
		if err != nil || !cached {
			t.Errorf("%s: the second time cached %v, error %v", what, cached, err)
			continue
		}
		code.close(t.Context(), c.log)
	}
}

// Processes that begin to compile a module at the same time read and compile it once.
func TestCompiledOnce(t *testing.T) {
	t.Parallel()
	wasm, err := os.ReadFile("testdata/counter.wasm")
	if err != nil {
		t.Fatal(err)
	}
	c := testCache(t)
	const processes = 8
	var calls sync.WaitGroup
	var read, compiled atomic.Int32
	for range processes {
		calls.Go(func() {
			code, cached, err := c.compile(t.Context(), [32]byte{}, 1024, func() ([]byte, error) {
				read.Add(1)
				return wasm, nil
			})
			if err != nil {
				t.Error(err)
				return
			}
			if !cached {
				compiled.Add(1)
			}
			code.close(t.Context(), c.log)
		})
	}
	calls.Wait()
	if read.Load() != 1 || compiled.Load() != 1 {
		t.Errorf("read %d times, compiled %d times", read.Load(), compiled.Load())
	}
	if left, err := os.ReadDir(c.dir); err != nil || len(left) != 1 {
		t.Errorf("files %v, %v, want only the entry", left, err)
	}
}

// A process that waited for another one in vain has time to compile the module before its calls fail.
func TestTimeAfterWait(t *testing.T) {
	t.Parallel()
	if limit := New(Options{}).options.CompileTimeout; maxWait > limit/2 {
		t.Errorf("calls wait %s for another process, and fail after %s", maxWait, limit)
	}
}

// The entries that were not used for longest make room.
func TestEvict(t *testing.T) {
	t.Parallel()
	c := testCache(t)
	now := time.Now()
	for n, name := range []string{"old", "used", "new"} {
		if err := c.write(name+entrySuffix, nil, "a/b", make([]byte, 400<<10)); err != nil {
			t.Fatal(err)
		}
		at := now.Add(time.Duration(n-10) * time.Minute)
		if name == "used" {
			at = now
		}
		if name == "new" {
			break
		}
		if err := os.Chtimes(filepath.Join(c.dir, name+entrySuffix), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{"old": false, "used": true, "new": true} {
		if _, err := os.Stat(filepath.Join(c.dir, name+entrySuffix)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
}

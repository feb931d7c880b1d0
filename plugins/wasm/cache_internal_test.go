package wasm

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func testCache(t testing.TB) *cache {
	t.Helper()
	c := newCache(filepath.Join(t.TempDir(), "cache"), 1<<20, slog.New(slog.DiscardHandler))
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
	unpacked := filepath.Join(t.TempDir(), "native")
	good, err := c.unpack(name, unpacked)
	if err != nil {
		t.Fatal(err)
	}
	if good.native, err = os.ReadFile(unpacked); err != nil {
		t.Fatal(err)
	}
	directory, file := filepath.Split(good.name)
	for what, other := range map[string]*entry{
		"other processor": {name: filepath.Join(directory, "00"+file[2:]), stub: good.stub, native: good.native},
		"other version":   {name: good.name, stub: good.stub, native: bytes.Replace(good.native, []byte("WAZEVO\x03dev"), []byte("WAZEVO\x03dew"), 1)},
		"no native code":  {name: good.name, stub: good.stub},
	} {
		if what == "other version" && bytes.Equal(other.native, good.native) {
			other.native = append([]byte("WAZEVO\x06v9.9.9"), good.native...) // wazero has a version here
		}
		if err := c.write(name, other); err != nil {
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

// The entries that were not used for longest make room.
func TestEvict(t *testing.T) {
	t.Parallel()
	c := testCache(t)
	now := time.Now()
	for n, name := range []string{"old", "used", "new"} {
		if err := c.write(name+entrySuffix, &entry{name: "a/b", native: make([]byte, 400<<10)}); err != nil {
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

// An entry without its checksum is refused, whatever it is.
func FuzzEntry(f *testing.F) {
	body := []byte("\x01\x00\x00\x00\x02\x00\x00\x00a\x00\x00native")
	seal := func(body []byte) []byte {
		h := checksum("x")
		h.Write(body)
		return append(h.Sum([]byte(entryMagic)), body...)
	}
	sealed := seal(body)
	f.Add(sealed, false)
	f.Add(body, true)
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"), true)
	f.Add([]byte("\x03\x00\x00\x00\x00\x00\x00\x00../"), true)
	f.Fuzz(func(t *testing.T, data []byte, isSealed bool) {
		if isSealed {
			data = seal(data)
		}
		e, err := parse("x", bytes.NewReader(data), int64(len(data)), io.Discard)
		switch {
		case err != nil && !errors.Is(err, errDamaged):
			t.Errorf("error = %v", err)
		case err == nil && !isSealed && !bytes.Equal(data, sealed):
			t.Errorf("an entry without its checksum was accepted: %+v", e)
		case err == nil && !filepath.IsLocal(e.name):
			t.Errorf("it names %q", e.name)
		}
	})
}

package wasm

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/filelock"
	"github.com/tenonhq/tenon/plugins/wasm/internal/rewrite"
)

// cache keeps native code on disk.
//
// The directory belongs to the user, with mode 0700. Confined code cannot write to it: no grant covers it, and the sandbox of commands hides
// it. So an entry, a ZIP archive, has only the checksums of that format, against damage, and its own name as the comment. The name depends on
// the module's digest and everything else that determines the code. wazero checks less and writes files itself, so it never uses this
// directory: an entry is unpacked to a new directory for each load.
//
// An entry holds the native code of the rewritten module and a stub of the module (rewrite.Stub). wazero looks up native code by a hash of the
// module; in the entry, the code has the name under which wazero looks for the code of the stub. So a warm start neither rewrites nor
// validates the module. If wazero rejects the file (another version, another processor), it compiles the stub and writes a new file; then the
// entry is dropped and the module is compiled.
//
// Entries are written to a temporary file and renamed, so processes never read partial entries. Processes that start together compile a module
// once: the first does it under a lock, for which the others wait. Two processes that compile the same module write the same entry.
type cache struct {
	dir   string // empty: nothing is cached
	limit int64  // bytes of all entries
	log   *slog.Logger
	stale sync.Once // removes directories left by killed processes
}

const (
	entryFormat = 4
	entrySuffix = ".native"
	stubName    = "stub.wasm"
	loadPattern = "load-*"
	// staleLoad is the age after which the directory of a load must belong to a killed process.
	staleLoad = time.Hour
	// maxWait bounds the wait for another process that compiles the same module. That process may be suspended, and CompileTimeout includes the wait.
	maxWait = 20 * time.Second
)

var (
	errDamaged = errors.New("the entry is damaged")
	errNoCache = errors.New("no directory is configured")
)

// holds reports whether there is an entry for the module with the digest. The entry may turn out to be invalid.
func (c *cache) holds(digest [sha256.Size]byte, pages uint32) bool {
	_, err := os.Stat(filepath.Join(c.dir, entryName(digest, pages)))
	return err == nil && c.dir != ""
}

// compile returns the code of the module with the digest, from the cache if possible; otherwise it calls read for the module. A broken
// cache only costs time.
func (c *cache) compile(ctx context.Context, digest [sha256.Size]byte, pages uint32, read func() ([]byte, error)) (found *code, cached bool, err error) {
	name := entryName(digest, pages)
	broken := c.open()
	if broken == nil {
		if found = c.existing(ctx, name, pages); found != nil {
			return found, true, nil
		}
	}
	create := func() (*code, error) {
		wasm, err := read()
		if err != nil {
			return nil, err
		}
		m, err := rewritten(wasm)
		switch {
		case err != nil:
			return nil, err
		case broken == nil:
			return c.create(ctx, m, name, pages)
		case !errors.Is(broken, errNoCache):
			c.log.Warn("no cache for compiled wasm modules", "err", broken)
		}
		return newCode(ctx, m.Wasm, pages, nil)
	}
	unlocked := broken
	if broken == nil {
		lock := filepath.Join(c.dir, name+".lock")
		unlocked = filelock.Do(ctx, lock, maxWait, func() error {
			if found = c.existing(ctx, name, pages); found == nil {
				found, err = create()
			} else {
				cached = true
			}
			_ = os.Remove(lock) // at worst, another process compiles, too
			return nil
		})
	}
	if unlocked != nil {
		found, err = create()
	}
	return found, cached, err
}

// existing returns the code of an entry, nil without a valid one. It removes an invalid entry.
func (c *cache) existing(ctx context.Context, name string, pages uint32) *code {
	code, err := c.load(ctx, name, pages)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("wasm cache entry is invalid; recompiling", "entry", name, "err", err)
		_ = os.Remove(filepath.Join(c.dir, name)) // create rewrites it
	}
	return code
}

// entryName is the name of the file for a module. It covers everything the native code depends on, except wazero's own version and
// the processor's abilities, which wazero checks.
func entryName(digest [sha256.Size]byte, pages uint32) string {
	h := sha256.New()
	fmt.Fprintf(h, "%x %d %d %s %s %d", digest, pages, rewrite.Version, runtime.GOOS, runtime.GOARCH, entryFormat)
	return hex.EncodeToString(h.Sum(nil)) + entrySuffix
}

// open creates the directory, if necessary, and returns an error if nothing can be created in it.
func (c *cache) open() error {
	if c.dir == "" {
		return errNoCache
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(c.dir, 0o700); err != nil { // fails for the directory of another user
		return err
	}
	c.stale.Do(c.removeStale)
	attempt, err := os.MkdirTemp(c.dir, loadPattern) // fails in the sandbox of commands
	if err != nil {
		return err
	}
	return os.Remove(attempt)
}

// removeStale removes directories left by killed processes.
func (c *cache) removeStale() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || strings.HasSuffix(e.Name(), entrySuffix) || time.Since(info.ModTime()) < staleLoad {
			continue
		}
		_ = os.RemoveAll(filepath.Join(c.dir, e.Name())) // another process may also remove it
	}
}

// unpack checks an entry, copies its native code to a directory, and returns the stub.
func (c *cache) unpack(name, dir string) (stub []byte, err error) {
	entry := filepath.Join(c.dir, name)
	in, err := zip.OpenReader(entry)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if in.Comment != name {
		return nil, errDamaged
	}
	if err := os.CopyFS(dir, in); err != nil {
		return nil, err
	}
	files, err := written(dir)
	if err != nil || len(files) != 1 {
		return nil, errors.Join(errDamaged, err)
	}
	now := time.Now()
	_ = os.Chtimes(entry, now, now) // the time of the last use, for evict
	if err := os.Chtimes(filepath.Join(dir, filepath.FromSlash(files[0])), unused, unused); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, stubName))
}

// write stores an entry and removes the oldest entries above the limit. file is the name of the native code.
func (c *cache) write(name string, stub []byte, file string, native []byte) error {
	var content bytes.Buffer
	out := zip.NewWriter(&content)
	add := func(name string, data []byte) error {
		w, err := out.CreateHeader(&zip.FileHeader{Name: name}) // not compressed
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
	err := errors.Join(out.SetComment(name), add(stubName, stub), add(file, native), out.Close())
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(c.dir, name), content.Bytes(), atomicfile.Options{}); err != nil {
		return err
	}
	return c.evict(name)
}

// evict removes the least recently used entries until the rest fits. It never removes keep.
func (c *cache) evict(keep string) error {
	files, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	var entries []fs.FileInfo
	total := int64(0)
	for _, f := range files {
		if info, err := f.Info(); err == nil && strings.HasSuffix(f.Name(), entrySuffix) {
			entries = append(entries, info)
			total += info.Size()
		}
	}
	slices.SortFunc(entries, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range entries {
		if total <= c.limit {
			break
		}
		if info.Name() != keep && os.Remove(filepath.Join(c.dir, info.Name())) == nil {
			total -= info.Size()
		}
	}
	return nil
}

// unused is the time of a file with native code until wazero replaces it.
var unused = time.Unix(1, 0)

// load returns the code of an entry.
func (c *cache) load(ctx context.Context, name string, pages uint32) (*code, error) {
	return c.build(ctx, pages, func(dir string) ([]byte, error) { return c.unpack(name, dir) }, func(file, path string) error {
		if info, err := os.Stat(path); file == "" || err != nil || !info.ModTime().Equal(unused) {
			return errors.New("it was made by another version of wazero or for another processor")
		}
		return nil
	})
}

// create compiles a module and stores its code.
func (c *cache) create(ctx context.Context, m *rewrite.Module, name string, pages uint32) (*code, error) {
	code, _, native, err := c.native(ctx, m.Wasm, pages)
	if err != nil || native == nil { // nil: this platform has no compiler
		return code, err
	}
	stub, err := rewrite.Stub(m)
	if err == nil {
		err = c.store(ctx, stub, name, native, pages)
	}
	if err != nil {
		c.log.Warn("a compiled wasm module was not cached", "entry", name, "err", err)
	}
	return code, nil
}

func (c *cache) store(ctx context.Context, stub []byte, name string, native []byte, pages uint32) error {
	// wazero reveals the name of the code's file only when it compiles the stub.
	code, file, _, err := c.native(ctx, stub, pages)
	if err != nil {
		return err
	}
	code.close(ctx, c.log)
	return c.write(name, stub, file, native)
}

// native compiles a module and returns the name and the content of the file that wazero wrote; nil if it wrote none.
func (c *cache) native(ctx context.Context, wasm []byte, pages uint32) (out *code, file string, content []byte, err error) {
	out, err = c.build(ctx, pages, func(string) ([]byte, error) { return wasm, nil }, func(name, path string) (err error) {
		if file = name; file != "" {
			content, err = os.ReadFile(path)
		}
		return err
	})
	return out, file, content, err
}

// build compiles the module that prepare returns, with a new directory for wazero, which it then removes. prepare may put native code there.
// check receives the name of the only file with native code, empty if there is none or several, and its path; its error refuses the code.
func (c *cache) build(ctx context.Context, pages uint32, prepare func(dir string) ([]byte, error), check func(file, path string) error) (*code, error) {
	dir, err := os.MkdirTemp(c.dir, loadPattern)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	wasm, err := prepare(dir)
	if err != nil {
		return nil, err
	}
	native, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, err
	}
	out, err := newCode(ctx, wasm, pages, native)
	if err != nil {
		return nil, err
	}
	file := ""
	if files, err := written(dir); err == nil && len(files) == 1 {
		file = files[0]
	}
	if err := check(file, filepath.Join(dir, filepath.FromSlash(file))); err != nil {
		out.close(ctx, c.log)
		return nil, err
	}
	return out, nil
}

// written returns the files that wazero wrote in a directory, relative to it, with slashes. They are one level down.
func written(dir string) ([]string, error) { return fs.Glob(os.DirFS(dir), "*/*") }

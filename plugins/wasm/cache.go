package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
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
	"github.com/tenonhq/tenon/plugins/wasm/internal/rewrite"
)

// cache keeps native code on disk.
//
// The directory is the user's own, mode 0700. Nothing confined can write to it: no grant covers it, and the sandbox of commands hides it. So
// an entry carries only a checksum against damage, over its name, which depends on the module's digest and everything else that the code
// depends on, and its content. wazero checks less and writes files itself, so it never uses the cache directly: a checked entry is
// copied to a new directory for one load.
//
// An entry holds the native code of the rewritten module and a stub of it (rewrite.Stub). wazero looks up native code by a hash of
// the given module; the entry names the file under which wazero looks for the code of the stub. So a warm start neither rewrites nor
// validates the module. If wazero rejects the file (another version, another processor), it compiles the stub
// and writes a new file; then the entry is dropped and the module compiled.
//
// Entries are written to a temporary file and renamed, so a process never reads half of one; two that compile the same module write the same.
type cache struct {
	dir   string
	limit int64 // bytes of all entries
	log   *slog.Logger
	stale sync.Once // removes what processes that were killed left behind
}

func newCache(dir string, limit int64, log *slog.Logger) *cache {
	return &cache{dir: dir, limit: limit, log: log}
}

const (
	entryMagic  = "tenon wasm 3\n"
	entrySuffix = ".native"
	loadPattern = "load-*"
	// staleLoad is the age at which the directory of a load was left behind by a process that was killed.
	staleLoad = time.Hour
)

// errDamaged is returned for an entry that is not what was written.
var errDamaged = errors.New("the entry is damaged")

// entry is the content of a file of the cache.
type entry struct {
	name   string // of the file wazero looks for, relative to its directory
	stub   []byte
	native []byte // nil after unpack, which writes it to a file
}

// holds reports whether there is an entry for the module with the digest. Whether it is of use shows when it is read.
func (c *cache) holds(digest [sha256.Size]byte, pages uint32) bool {
	_, err := os.Stat(filepath.Join(c.dir, entryName(digest, pages)))
	return err == nil
}

// compile returns the code of the module with the digest, from the cache if possible; otherwise it calls read for the module. A broken
// cache only costs time.
func (c *cache) compile(ctx context.Context, digest [sha256.Size]byte, pages uint32, read func() ([]byte, error)) (code *code, cached bool, err error) {
	name := entryName(digest, pages)
	broken := c.open()
	if broken == nil {
		if code, err = c.load(ctx, name, pages); err == nil {
			return code, true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			c.log.Warn("wasm cache entry is invalid; recompiling", "entry", name, "err", err)
			_ = os.Remove(filepath.Join(c.dir, name)) // create rewrites it
		}
	}
	wasm, err := read()
	if err != nil {
		return nil, false, err
	}
	if broken != nil {
		c.log.Warn("no cache for compiled wasm modules", "err", broken)
		code, err = compile(ctx, wasm, pages)
		return code, false, err
	}
	code, err = c.create(ctx, wasm, name, pages)
	return code, false, err
}

// entryName is the name of the file for a module. It covers everything the native code depends on, except wazero's own version and
// the processor's abilities, which wazero checks.
func entryName(digest [sha256.Size]byte, pages uint32) string {
	h := sha256.New()
	fmt.Fprintf(h, "%x %d %d %s %s %s", digest, pages, rewrite.Version, runtime.GOOS, runtime.GOARCH, entryMagic)
	return hex.EncodeToString(h.Sum(nil)) + entrySuffix
}

// open makes the directory, also when it was removed since.
func (c *cache) open() error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(c.dir, 0o700); err != nil { // fails for the directory of another user
		return err
	}
	c.stale.Do(c.removeStale)
	return nil
}

// removeStale removes what killed processes left behind.
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
		_ = os.RemoveAll(filepath.Join(c.dir, e.Name())) // another process may be at it, too
	}
}

// castagnoli is the polynomial that processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the hash that the rest of the content goes through. The native code of a Go module has tens of megabytes, for which
// SHA-256 takes about 10 ms more.
func checksum(name string) hash.Hash {
	h := crc32.New(castagnoli)
	fmt.Fprintf(h, "%s\n", name)
	return h
}

// unpack reads and checks an entry and writes its native code to a new file.
func (c *cache) unpack(name, to string) (*entry, error) {
	path := filepath.Join(c.dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > c.limit {
		return nil, fmt.Errorf("%w: not a file, or too large", errDamaged)
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	e, err := parse(name, in, info.Size(), out)
	if err := errors.Join(err, out.Close()); err != nil {
		return nil, err
	}
	return e, nil
}

// parse splits and checks an entry of size bytes. Until it returns, nothing that was written to native may be used.
func parse(name string, in io.Reader, size int64, native io.Writer) (*entry, error) {
	h := checksum(name)
	sum := make([]byte, len(entryMagic)+crc32.Size)
	var lengths [8]byte
	if _, err := io.ReadFull(in, sum); err != nil || string(sum[:len(entryMagic)]) != entryMagic {
		return nil, fmt.Errorf("%w: its beginning is missing", errDamaged)
	}
	in = io.TeeReader(in, h)
	if _, err := io.ReadFull(in, lengths[:]); err != nil {
		return nil, fmt.Errorf("%w: its beginning is missing", errDamaged)
	}
	names, stub := int64(binary.LittleEndian.Uint32(lengths[:])), int64(binary.LittleEndian.Uint32(lengths[4:]))
	if names+stub > size {
		return nil, fmt.Errorf("%w: it is truncated", errDamaged)
	}
	head := make([]byte, names+stub)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, fmt.Errorf("%w: it is truncated", errDamaged)
	}
	if _, err := io.CopyBuffer(onlyWriter{native}, in, make([]byte, copyBuffer)); err != nil {
		return nil, err
	}
	if !bytes.Equal(sum[len(entryMagic):], h.Sum(nil)) {
		return nil, errDamaged
	}
	e := &entry{name: string(head[:names]), stub: head[names:]}
	if !filepath.IsLocal(e.name) {
		return nil, fmt.Errorf("%w: it names the file %q", errDamaged, e.name)
	}
	return e, nil
}

// copyBuffer is how many bytes are read, hashed and written while the processor's cache still has them.
const copyBuffer = 256 << 10

// onlyWriter hides that a file can copy from another by itself: the bytes have to pass the checksum.
type onlyWriter struct{ io.Writer }

// write stores an entry and drops the oldest when there are too many.
func (c *cache) write(name string, e *entry) error {
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(e.name)))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(e.stub)))
	head = append(head, e.name...)
	h := checksum(name)
	for _, part := range [][]byte{head, e.stub, e.native} {
		h.Write(part)
	}
	content := slices.Concat([]byte(entryMagic), h.Sum(nil), head, e.stub, e.native)
	if err := atomicfile.Write(filepath.Join(c.dir, name), content, atomicfile.Options{}); err != nil {
		return err
	}
	return c.evict(name)
}

// evict removes the entries that were not used for longest until the rest fits. keep stays.
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

// load makes code of an entry.
func (c *cache) load(ctx context.Context, name string, pages uint32) (*code, error) {
	if _, err := os.Stat(filepath.Join(c.dir, name)); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(c.dir, loadPattern)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	unpacked := filepath.Join(dir, "native")
	e, err := c.unpack(name, unpacked)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(c.dir, name), now, now) // when it was used last, for evict
	native, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, e.name)
	if err := os.Rename(unpacked, path); err != nil {
		return nil, err // wazero keeps its files in another directory now
	}
	// While it is open no new file can pass for it.
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	before, err := file.Stat()
	if err != nil {
		return nil, err
	}
	code, err := newCode(ctx, e.stub, pages, native)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	after, statErr := os.Stat(path)
	if err := errors.Join(err, statErr); err != nil || len(files) != 1 || !os.SameFile(before, after) {
		code.close(ctx, c.log)
		return nil, fmt.Errorf("it was made by another version of wazero or for another processor (%d files)", len(files))
	}
	return code, nil
}

// create compiles a module and stores its code.
func (c *cache) create(ctx context.Context, wasm []byte, name string, pages uint32) (*code, error) {
	m, err := rewritten(wasm)
	if err != nil {
		return nil, err
	}
	code, _, native, err := c.native(ctx, m.Wasm, pages)
	if err != nil {
		return nil, err
	}
	if native == nil { // this platform has no compiler
		return code, nil
	}
	if err := c.store(ctx, m, name, native, pages); err != nil {
		c.log.Warn("a compiled wasm module was not cached", "entry", name, "err", err)
	}
	return code, nil
}

func (c *cache) store(ctx context.Context, m *rewrite.Module, name string, native []byte, pages uint32) error {
	stub, err := rewrite.Stub(m)
	if err != nil {
		return err
	}
	// Compiling the stub is how to learn under which name wazero looks for its code.
	code, file, _, err := c.native(ctx, stub, pages)
	if err != nil {
		return err
	}
	code.close(ctx, c.log)
	return c.write(name, &entry{name: file, stub: stub, native: native})
}

// native compiles a module and returns the file wazero wrote: its name and its content, which is nil without a file.
func (c *cache) native(ctx context.Context, wasm []byte, pages uint32) (*code, string, []byte, error) {
	dir, err := os.MkdirTemp(c.dir, loadPattern)
	if err != nil {
		return nil, "", nil, err
	}
	defer os.RemoveAll(dir)
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, "", nil, err
	}
	code, err := newCode(ctx, wasm, pages, cache)
	if err != nil {
		return nil, "", nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 1 {
		return code, "", nil, nil
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		code.close(ctx, c.log)
		return nil, "", nil, err
	}
	name, err := filepath.Rel(dir, files[0])
	return code, name, content, err
}

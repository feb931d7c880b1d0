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
// The directory belongs to the user, with mode 0700. Confined code cannot write to it: no grant covers it, and the sandbox of commands hides
// it. So an entry has only a checksum against damage, of its content and its name. The name depends on the module's digest and everything
// else that determines the code. wazero checks less and writes files itself, so it never uses this directory: a checked entry is copied to a
// new directory for each load.
//
// An entry holds the native code of the rewritten module and a stub of the module (rewrite.Stub). wazero looks up native code by a hash of the
// module; the entry contains the name under which wazero looks for the code of the stub. So a warm start neither rewrites nor validates the
// module. If wazero rejects the file (another version, another processor), it compiles the stub and writes a new file; then the entry is
// dropped and the module is compiled.
//
// Entries are written to a temporary file and renamed, so processes never read partial entries. Two processes that compile the same module
// write the same entry.
type cache struct {
	dir   string
	limit int64 // bytes of all entries
	log   *slog.Logger
	stale sync.Once // removes directories left by killed processes
}

func newCache(dir string, limit int64, log *slog.Logger) *cache {
	return &cache{dir: dir, limit: limit, log: log}
}

const (
	entryMagic  = "tenon wasm 3\n"
	entrySuffix = ".native"
	loadPattern = "load-*"
	// staleLoad is the age after which the directory of a load must belong to a killed process.
	staleLoad = time.Hour
)

// errDamaged is wrapped by errors about damaged entries.
var errDamaged = errors.New("the entry is damaged")

// entry is the content of a file of the cache.
type entry struct {
	name   string // of the file that wazero reads, relative to its directory
	stub   []byte
	native []byte // nil after unpack, which writes it to a file
}

// holds reports whether there is an entry for the module with the digest. The entry may turn out to be invalid.
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

// open creates the directory, if necessary.
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

// castagnoli is the polynomial for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the hash for the content of an entry. The native code of a Go module has tens of megabytes, for which SHA-256 would take
// about 10 ms more.
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

// parse splits and checks an entry of size bytes. The data written to native must not be used before parse returns nil.
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

// copyBuffer is the number of bytes per step of reading, hashing and writing; they fit into the processor's cache.
const copyBuffer = 256 << 10

// onlyWriter hides the file's ReadFrom, because all bytes must pass the checksum.
type onlyWriter struct{ io.Writer }

// write stores an entry and removes the oldest entries above the limit.
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

// load returns the code of an entry.
func (c *cache) load(ctx context.Context, name string, pages uint32) (*code, error) {
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
	_ = os.Chtimes(filepath.Join(c.dir, name), now, now) // the time of the last use, for evict
	native, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, e.name)
	if err := os.Rename(unpacked, path); err != nil {
		return nil, err // wazero keeps its files in another directory now
	}
	// While it is open, no new file can have its identity.
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
	files, err := written(dir)
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
	// wazero reveals the name of the code's file only when it compiles the stub.
	code, file, _, err := c.native(ctx, stub, pages)
	if err != nil {
		return err
	}
	code.close(ctx, c.log)
	return c.write(name, &entry{name: file, stub: stub, native: native})
}

// native compiles a module and returns the name and the content of the file that wazero wrote; nil if it wrote none.
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
	files, err := written(dir)
	if err != nil || len(files) != 1 {
		return code, "", nil, nil
	}
	name := filepath.FromSlash(files[0])
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		code.close(ctx, c.log)
		return nil, "", nil, err
	}
	return code, name, content, nil
}

// written returns the files that wazero wrote in a directory, relative to it. They are one level down.
func written(dir string) ([]string, error) { return fs.Glob(os.DirFS(dir), "*/*") }

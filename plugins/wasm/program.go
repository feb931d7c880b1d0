package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/remote"
)

// program is the module of a plugin and, once needed, its code.
type program struct {
	runtime *Runtime
	file    moduleFile
	pages   uint32 // maximum memory of an instance, in pages of 64 KiB
	log     *slog.Logger

	mu     sync.Mutex
	began  time.Time     // start of loading
	ready  chan struct{} // closed when loading has ended; nil before the first call
	loaded *code
	err    error
}

// cached reports whether the cache has the code of an approved module. The code is lost if the cache is deleted or tenon is updated.
func (p *program) cached() bool {
	return p.file.approved() && p.runtime.cache.holds(p.file.digest, p.pages)
}

// code returns the compiled module. The first call starts loading it. If ctx ends first, the error wraps ErrCompiling, and loading
// continues.
func (p *program) code(ctx context.Context) (*code, error) {
	p.mu.Lock()
	if p.ready == nil && p.err == nil {
		p.ready, p.began = make(chan struct{}), time.Now()
		// It ends when the module is loaded, which cannot be interrupted; close waits for it.
		go p.load(context.WithoutCancel(ctx))
	}
	ready, late := p.ready, p.began.Add(p.runtime.options.CompileTimeout)
	if p.loaded != nil || p.err != nil {
		defer p.mu.Unlock()
		return p.loaded, p.err
	}
	p.mu.Unlock()
	select {
	case <-ready:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.loaded, p.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrCompiling, ctx.Err())
	case <-time.After(time.Until(late)):
		return nil, fmt.Errorf("%w: %s: compiling it takes longer than %v; it continues, so try again later", ErrModule, p.file.path, p.runtime.options.CompileTimeout)
	}
}

// compiling reports whether the module is being loaded, and not for too long.
func (p *program) compiling() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready != nil && p.loaded == nil && p.err == nil && time.Since(p.began) < p.runtime.options.CompileTimeout
}

func (p *program) load(ctx context.Context) {
	defer close(p.ready)
	c, cached, err := p.compile(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.err != nil: // closed
		if c != nil {
			c.close(ctx, p.log)
		}
	case err != nil:
		p.err = fmt.Errorf("%s: %w", p.file.path, err)
	default:
		p.loaded = c
		p.log.Debug("module ready", "dur", time.Since(p.began), "cached", cached)
	}
}

// compile returns the code of the module, from the cache if possible.
func (p *program) compile(ctx context.Context) (c *code, cached bool, err error) {
	defer func() {
		// A panic of the compiler must not end the host.
		if r := recover(); r != nil {
			c, err = nil, fmt.Errorf("%w: compilation failed: %v", ErrModule, r)
		}
	}()
	digest, read := p.file.digest, p.file.read
	if !p.file.approved() { // for an approved module, cached code makes reading the module unnecessary
		wasm, err := read()
		if err != nil {
			return nil, false, err
		}
		digest, read = sha256.Sum256(wasm), func() ([]byte, error) { return wasm, nil }
	}
	return p.runtime.cache.compile(ctx, digest, p.pages, read)
}

// moduleFile is the file of a module.
type moduleFile struct {
	path   string
	digest [sha256.Size]byte // SHA-256 of the approved content; zero: any content
}

func newModuleFile(u *remote.Unit) (moduleFile, error) {
	f := moduleFile{path: u.Program}
	sum, err := hex.DecodeString(u.Checksum)
	if err != nil || len(sum) != 0 && len(sum) != sha256.Size {
		return f, fmt.Errorf("%w: %s: invalid digest %q: want a SHA-256 in hexadecimal digits", ErrModule, f.path, u.Checksum)
	}
	copy(f.digest[:], sum)
	info, err := os.Stat(f.path)
	switch {
	case err != nil:
		return f, fmt.Errorf("%w: %w", ErrModule, err)
	case !info.Mode().IsRegular():
		return f, fmt.Errorf("%w: %s is not a regular file", ErrModule, f.path)
	case info.Size() > maxModuleBytes:
		return f, fmt.Errorf("%w: %s has %d bytes; the limit is %d", ErrModule, f.path, info.Size(), maxModuleBytes)
	}
	return f, nil
}

// approved reports whether the content is known before the file is read.
func (f *moduleFile) approved() bool { return f.digest != [sha256.Size]byte{} }

// read returns the content, after comparing its SHA-256 with the approved one.
func (f *moduleFile) read() ([]byte, error) {
	wasm, err := projectfs.ReadRegular(f.path, maxModuleBytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModule, err)
	}
	if sum := sha256.Sum256(wasm); f.approved() && f.digest != sum {
		return nil, fmt.Errorf("%w: its SHA-256 is %x, but %x was approved; review the change, then approve it again", ErrDigest, sum, f.digest)
	}
	return wasm, nil
}

// close releases the code. It waits for a running compilation, at most until ctx ends.
func (p *program) close(ctx context.Context) error {
	p.mu.Lock()
	loaded, ready := p.loaded, p.ready
	p.loaded, p.err = nil, ErrClosed
	p.mu.Unlock()
	if loaded != nil {
		loaded.close(ctx, p.log)
	}
	if ready == nil {
		return nil
	}
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: it is still being compiled: %w", p.file.path, ctx.Err())
	}
}

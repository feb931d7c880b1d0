package wasm

import (
	"bytes"
	"context"
	"os"
	"sync"
	"unsafe"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// guestMemory is the memory of one instance. It reserves addresses for its maximum size; the system allocates pages on first access. So it
// never moves, and grows without copying.
type guestMemory struct {
	reserved []byte
	size     int
	trimmed  int // size at the last trim
	runs     int // number of mappings of the image
}

var _ experimental.LinearMemory = (*guestMemory)(nil)

// withMemory returns a context for creating an instance, and the memory that the instance will use.
func withMemory(ctx context.Context) (context.Context, *guestMemory) {
	m := &guestMemory{}
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, maxBytes uint64) experimental.LinearMemory {
		reserved, err := unix.Mmap(-1, 0, int(max(maxBytes, 1)), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		if err == nil {
			m.reserved = reserved
		}
		return m
	})), m
}

// Reallocate grows the memory. It returns nil if the system has no more.
func (m *guestMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.reserved)) {
		return nil
	}
	if int(size) > m.size {
		if err := unix.Mprotect(m.reserved[m.size:size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			return nil
		}
		m.size = int(size)
	}
	return m.reserved[:size:size]
}

// Free releases the memory.
func (m *guestMemory) Free() {
	_ = unix.Munmap(m.reserved) // fails only without one
	m.reserved, m.size = nil, 0
}

// grew reports whether the memory is larger than when it was trimmed.
func (i *instance) grew() bool { return i.memory.size > i.memory.trimmed }

// trim shares the memory pages of the instance that are equal to those of other instances.
func (i *instance) trim() {
	i.trimmed, i.memory.trimmed = true, i.memory.size
	i.shared.share(i.plugin.active.Life(), i.memory)
}

// image is a copy of the memory of a module's first idle instance. Other instances share most of it: the data of the module and the results
// of its start. Equal pages are mapped from the image and copied when they are written. Only equal pages are shared, so instances learn
// nothing about each other.
type image struct {
	mu     sync.Mutex
	file   *os.File
	data   []byte
	failed bool // the system does not support it
}

// share maps the pages of memory that equal the image's, unless life ends: making an image can take seconds on a busy machine, and Close waits
// for it. Memory larger than maxShared is left unchanged.
func (g *image) share(life context.Context, m *guestMemory) {
	if m.size > maxShared {
		return
	}
	memory := m.reserved[:m.size]
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.data == nil && !g.failed {
		g.failed = !g.make(life, memory)
	}
	page := os.Getpagesize()
	for at, end := 0, min(len(memory), len(g.data)); at < end && m.runs < maxRuns && life.Err() == nil; {
		run := equalPages(memory[at:end], g.data[at:end], page)
		if run >= minRun*page {
			if !g.mapPages(memory[at:at+run], int64(at)) {
				return
			}
			m.runs++
		}
		at += run + page
	}
}

// Bounds of sharing.
const (
	// minRun is the minimum number of consecutive pages for a mapping.
	minRun = 4
	// maxRuns is the maximum number of mappings of an instance. The system limits the mappings of the process (65,530 by default), and Go's
	// heap needs some, too. A guest in Go has about 30.
	maxRuns = 128
	// maxShared is the maximum size of compared memory, in bytes. Comparing this much takes about 10 ms.
	maxShared = 64 << 20
)

// equalPages returns the length of the common prefix of a and b, in bytes of whole pages.
func equalPages(a, b []byte, page int) int {
	n := 0
	for n+page <= len(a) && bytes.Equal(a[n:n+page], b[n:n+page]) {
		n += page
	}
	return n
}

// mapPages replaces pages by equal pages of the image. If it fails, the old pages remain.
func (g *image) mapPages(memory []byte, offset int64) bool {
	_, err := unix.MmapPtr(int(g.file.Fd()), offset, unsafe.Pointer(unsafe.SliceData(memory)), uintptr(len(memory)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED)
	return err == nil
}

// make copies memory into a file without a name.
func (g *image) make(life context.Context, memory []byte) bool {
	fd, err := unix.MemfdCreate("tenon-wasm", unix.MFD_CLOEXEC)
	if err != nil {
		return false
	}
	g.file = os.NewFile(uintptr(fd), "tenon-wasm")
	if g.file.Truncate(int64(len(memory))) != nil || !g.fill(life, memory) {
		return false
	}
	g.data, err = unix.Mmap(fd, 0, len(memory), unix.PROT_READ, unix.MAP_SHARED)
	return err == nil
}

// fill writes the pages that are not zero, and reports whether all are written.
func (g *image) fill(life context.Context, memory []byte) bool {
	page := os.Getpagesize()
	zero := make([]byte, page)
	for at := 0; at < len(memory); at += page {
		part := memory[at:min(at+page, len(memory))]
		if life.Err() != nil {
			return false
		}
		if bytes.Equal(part, zero[:len(part)]) {
			continue
		}
		if _, err := g.file.WriteAt(part, int64(at)); err != nil {
			return false
		}
	}
	return true
}

// close releases the image. Memory that is mapped from it stays.
func (g *image) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = unix.Munmap(g.data) // fails only without data
	_ = g.file.Close()      // all writes have succeeded
	g.data, g.file, g.failed = nil, nil, true
}

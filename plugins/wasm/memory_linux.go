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

// guestMemory is the memory of one instance: a range of addresses as large as the memory may become, of which the system provides
// what is touched. It never moves, and growing it copies nothing.
type guestMemory struct {
	reserved []byte
	size     int
	trimmed  int // its size when it was trimmed
	runs     int // mappings of the image in it
}

var _ experimental.LinearMemory = (*guestMemory)(nil)

// withMemory returns a context with which an instance gets its memory from here, and that memory, which is filled in then.
func withMemory(ctx context.Context) (context.Context, *guestMemory) {
	m := &guestMemory{}
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, most uint64) experimental.LinearMemory {
		reserved, err := unix.Mmap(-1, 0, int(max(most, 1)), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		if err == nil {
			m.reserved = reserved
		}
		return m
	})), m
}

// Reallocate makes the memory larger. It returns nil when the system has no more.
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

// Free gives the memory back.
func (m *guestMemory) Free() {
	if m.reserved != nil {
		_ = unix.Munmap(m.reserved) // it is what Mmap returned
		m.reserved, m.size = nil, 0
	}
}

// grew reports whether the memory is larger than when it was trimmed.
func (i *instance) grew() bool { return i.memory.size > i.memory.trimmed }

// trim lets the instance share with others the pages of its memory that are the same.
func (i *instance) trim() {
	i.trimmed, i.memory.trimmed = true, i.memory.size
	i.shared.share(i.memory)
}

// image is the memory of the instance of a module that first became idle. Other instances share most of it: the data of
// the module and the results of its start. Equal pages are mapped from here and copied when they are
// written. Nothing is shared that is not equal, so no instance learns anything of another.
type image struct {
	mu     sync.Mutex
	file   *os.File
	data   []byte
	failed bool // this system cannot do it
}

// share maps the pages of memory that are equal to the image's from there. Memory larger than maxShared keeps its pages.
func (g *image) share(m *guestMemory) {
	if m.size > maxShared {
		return
	}
	memory := m.reserved[:m.size]
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.data == nil && !g.failed {
		g.failed = !g.make(memory)
	}
	page := os.Getpagesize()
	for at, end := 0, min(len(memory), len(g.data)); at < end && m.runs < maxRuns; {
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
	// minRun is how many pages in a row are worth a mapping of their own.
	minRun = 4
	// maxRuns is how many mappings one instance may have during its life. The system bounds those of the process (65,530 by
	// default), and Go's heap needs some, too. A guest in Go has about 30.
	maxRuns = 128
	// maxShared is the size in bytes up to which memory is compared, which takes about 10 ms for as much.
	maxShared = 64 << 20
)

// equalPages returns how many bytes at the beginning of a and b are equal, in whole pages.
func equalPages(a, b []byte, page int) int {
	n := 0
	for n+page <= len(a) && bytes.Equal(a[n:n+page], b[n:n+page]) {
		n += page
	}
	return n
}

// mapPages puts the pages of the image in place of equal ones. Afterwards either those or the old ones are there.
func (g *image) mapPages(memory []byte, offset int64) bool {
	_, err := unix.MmapPtr(int(g.file.Fd()), offset, unsafe.Pointer(unsafe.SliceData(memory)), uintptr(len(memory)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED)
	return err == nil
}

// make copies memory into a file without a name.
func (g *image) make(memory []byte) bool {
	fd, err := unix.MemfdCreate("tenon-wasm", unix.MFD_CLOEXEC)
	if err != nil {
		return false
	}
	g.file = os.NewFile(uintptr(fd), "tenon-wasm")
	if g.file.Truncate(int64(len(memory))) != nil || !g.fill(memory) {
		return false
	}
	g.data, err = unix.Mmap(fd, 0, len(memory), unix.PROT_READ, unix.MAP_SHARED)
	return err == nil
}

// fill writes the pages that are not zero.
func (g *image) fill(memory []byte) bool {
	page := os.Getpagesize()
	zero := make([]byte, page)
	for at := 0; at < len(memory); at += page {
		part := memory[at:min(at+page, len(memory))]
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
	if g.data != nil {
		_ = unix.Munmap(g.data) // it is what Mmap returned
	}
	if g.file != nil {
		_ = g.file.Close() // nothing is written any more
	}
	g.data, g.file, g.failed = nil, nil, true
}

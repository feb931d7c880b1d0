package wasm

import (
	"bytes"
	"context"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// memoryOf returns memory of so many bytes in which every step-th page is marked.
func memoryOf(t *testing.T, size, step int, mark byte) *guestMemory {
	t.Helper()
	data, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	m := &guestMemory{reserved: data, size: size}
	t.Cleanup(m.Free)
	page := os.Getpagesize()
	for at := 0; step > 0 && at < size; at += step * page {
		data[at] = mark
	}
	return m
}

// A guest that writes every few pages gets no more mappings than maxRuns, however often it is trimmed, and large memory gets none.
func TestTrimIsBounded(t *testing.T) {
	t.Parallel()
	g := &image{}
	defer g.close()
	g.share(t.Context(), memoryOf(t, maxShared, 0, 0))
	m := memoryOf(t, maxShared, 5, 1)
	for range 3 {
		g.share(t.Context(), m)
	}
	if m.runs != maxRuns {
		t.Errorf("%d mappings, want %d", m.runs, maxRuns)
	}
	if !bytes.Equal(m.reserved, memoryOf(t, maxShared, 5, 1).reserved) {
		t.Error("the memory changed")
	}
	large := memoryOf(t, maxShared+1<<16, 0, 0)
	g.share(t.Context(), large)
	if large.runs != 0 {
		t.Errorf("%d mappings of memory of %d bytes, want none", large.runs, large.size)
	}
}

// An instance that is trimmed while its plugin is closed delays the end of Close little.
func TestTrimEndsWithThePlugin(t *testing.T) {
	t.Parallel()
	life, end := context.WithCancel(t.Context())
	end()
	g := &image{}
	defer g.close()
	m := memoryOf(t, maxShared, 1, 1)
	if g.share(life, m); g.data != nil || m.runs != 0 {
		t.Errorf("image of %d bytes, %d mappings, want none", len(g.data), m.runs)
	}
}

package sqlite_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/host/store"
)

// wantBlob fails unless the content is there, or, when it must be gone, is not.
func (e *env) wantBlob(content []byte, there bool) {
	e.Helper()
	got, err := e.Blob(e.Context(), store.Hash(content))
	if !there {
		if !errors.Is(err, store.ErrNotFound) {
			e.Fatalf("Blob = %d bytes, %v; want ErrNotFound", len(got), err)
		}
		return
	}
	e.must(err)
	if !bytes.Equal(got, content) {
		e.Fatalf("Blob = %d bytes, want the %d that were put", len(got), len(content))
	}
}

func testBlobs(t *testing.T, e *env) {
	token := e.create("ses_a")
	contents := [][]byte{
		nil,
		[]byte("x"),
		bytes.Repeat([]byte("line of output\n"), 100_000),
		random(3 << 20),
	}
	for _, content := range contents {
		e.wantBlob(content, false)
		e.change(token, store.PutBlob{Content: content}, store.PutBlob{Content: content})
		e.change(token, store.PutBlob{Content: content})
	}
	equal(t, "seq", e.change(token), uint64(1))
	e.reopen()
	for _, content := range contents {
		e.wantBlob(content, true)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if got, err := e.Blob(t.Context(), store.Hash(contents[2])); err != nil || !bytes.Equal(got, contents[2]) {
				t.Errorf("Blob = %d bytes, %v", len(got), err)
			}
		})
	}
	group.Wait()
}

// random returns bytes that no compressor can shrink much, the same ones every time.
func random(n int) []byte {
	out := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = byte(x)
	}
	return out
}

func testBlobsDeleted(t *testing.T, e *env) {
	a, b := e.create("ses_a"), e.create("ses_b")
	shared, own := []byte("shared output"), []byte("own output")
	e.change(a, store.PutBlob{Content: shared}, store.PutBlob{Content: own})
	e.change(b, store.PutBlob{Content: shared})
	e.must(e.Delete(t.Context(), "ses_a"))
	e.wantBlob(own, false)
	e.wantBlob(shared, true)
	e.must(e.Delete(t.Context(), "ses_b"))
	e.wantBlob(shared, false)
	c := e.create("ses_c")
	e.change(c, store.PutBlob{Content: shared})
	e.wantBlob(shared, true)
}

//go:build unix

package process_test

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/tenonhq/tenon/plugins/process"
)

// A read ends at its deadline and loses nothing.
func TestLineSocketDeadline(t *testing.T) {
	t.Parallel()
	ours, theirs, err := process.LineSocket()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	defer ours.Close()
	limited := ours.(interface{ SetReadDeadline(time.Time) error })
	buffer := make([]byte, 10)
	for _, limit := range []time.Duration{-time.Hour, 0, 2 * time.Millisecond} {
		if err := limited.SetReadDeadline(time.Now().Add(limit)); err != nil {
			t.Fatal(err)
		}
		if n, err := ours.Read(buffer); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read with %s left: %d bytes, %v", limit, n, err)
		}
	}
	if _, err := theirs.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	_ = limited.SetReadDeadline(time.Now().Add(-time.Hour))
	if n, err := ours.Read(buffer); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read of what has come, after its deadline: %d bytes, %v", n, err)
	}
	for _, deadline := range []time.Time{time.Now().Add(time.Hour), {}} {
		_ = limited.SetReadDeadline(deadline)
		if n, err := ours.Read(buffer[:2]); n != 2 || err != nil {
			t.Errorf("read of what has come: %d bytes, %v", n, err)
		}
	}
}

// Close ends reads and writes that wait, and the other end sees the end.
func TestLineSocketClose(t *testing.T) {
	t.Parallel()
	ours, theirs, err := process.LineSocket()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	ended := make(chan error, 2)
	go func() {
		_, err := ours.Read(make([]byte, 10))
		ended <- err
	}()
	go func() {
		_, err := ours.Write(make([]byte, 16<<20)) // more than a socket takes
		ended <- err
	}()
	if _, err := io.ReadFull(theirs, make([]byte, 1000)); err != nil { // the write has begun
		t.Fatal(err)
	}
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("a read or a write returned without an error")
		}
	}
	if _, err := io.Copy(io.Discard, theirs); err != nil {
		t.Errorf("the other end got %v", err)
	}
}

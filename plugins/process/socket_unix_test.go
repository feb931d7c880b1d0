//go:build unix

package process_test

import (
	"io"
	"testing"

	"github.com/tenonhq/tenon/plugins/process"
)

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

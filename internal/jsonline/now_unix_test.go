//go:build unix

package jsonline_test

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/jsonline"
)

// TryBegin sends what the socket takes and nothing else, and the rest follows before other messages.
func TestTryBegin(t *testing.T) {
	t.Parallel()
	ends := ends(t)
	c := jsonline.New(ends[0])
	long, _ := json.Marshal(strings.Repeat("x", 4<<20)) // more than a socket takes
	take := func(*jsonline.Message) {}
	if sent, whole := c.TryBegin(1, "short", nil, take); !sent || !whole {
		t.Errorf("a short request: %v, %v", sent, whole)
	}
	if sent, whole := c.TryBegin(2, "long", long, take); !sent || whole {
		t.Errorf("a long request: %v, %v", sent, whole)
	}
	if sent, _ := c.TryBegin(3, "late", nil, take); sent {
		t.Error("a request was sent into the middle of another one")
	}
	written := make(chan error, 1)
	go func() { written <- c.Notify("last", nil) }()
	lines := bufio.NewReaderSize(ends[1], 8<<20)
	for _, want := range []string{"short", "long", "last"} {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			t.Fatal(err)
		}
		if m, err := jsonline.Decode(line); err != nil || m.Method != want {
			t.Errorf("got %.80s, %v, want %s", line, err, want)
		}
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	if err := c.Flush(); err != nil {
		t.Errorf("Flush without a rest: %v", err)
	}
}

// A stream that is not a socket may wait, so TryBegin does not use it.
func TestTryBeginOnAPipe(t *testing.T) {
	t.Parallel()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	for name, c := range map[string]*jsonline.Conn{"file": jsonline.New(out), "memory": jsonline.New(a)} {
		if sent, _ := c.TryBegin(1, "hook", nil, func(*jsonline.Message) {}); sent {
			t.Errorf("%s: the request was sent", name)
		}
	}
}

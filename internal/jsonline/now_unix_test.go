//go:build unix

package jsonline_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/jsonline"
)

// A request that the other end does not read does not keep its caller, and later messages come behind the whole of it.
func TestUnreadRequest(t *testing.T) {
	t.Parallel()
	ends := ends(t)
	for name, c := range map[string]*jsonline.Conn{"socket": jsonline.New(ends[0]), "stream": jsonline.New(struct{ file }{file{ends[0]}})} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			long, _ := json.Marshal(strings.Repeat("x", 4<<20)) // more than a socket takes
			take := func(*jsonline.Message) {}
			if sent, err := c.Begin(t.Context(), 1, "short", nil, take); !sent || err != nil {
				t.Errorf("a short request: %v, %v", sent, err)
			}
			lines := bufio.NewReaderSize(ends[1], 8<<20)
			go func() { // the beginning of the second line has come
				_, _ = lines.Peek(len(`{"jsonrpc":"2.0","id":1,"method":"short","params":{}}`) + 10)
				cancel()
			}()
			if sent, err := c.Ask(ctx, 2, "long", long, take); !sent || !errors.Is(err, context.Canceled) {
				t.Errorf("a long request: %v, %v", sent, err)
			}
			late, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if sent, err := c.Begin(late, 3, "late", nil, take); sent || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a request in the middle of another one: %v, %v", sent, err)
			}
			c.Cancel(2)
			for _, want := range []string{"short", "long", "cancel"} {
				line, err := lines.ReadSlice('\n')
				if err != nil {
					t.Fatal(err)
				}
				if m, err := jsonline.Decode(line); err != nil || m.Method != want {
					t.Errorf("got %.80s, %v, want %s", line, err, want)
				}
			}
		})
	}
}

// file hides that a stream is a socket.
type file struct{ f *os.File }

func (f file) Read(p []byte) (int, error)  { return f.f.Read(p) }
func (f file) Write(p []byte) (int, error) { return f.f.Write(p) }
func (f file) Close() error                { return f.f.Close() }

// Close ends a message that the other end does not read, and those that wait behind it.
func TestCloseWhileWriting(t *testing.T) {
	t.Parallel()
	ends := ends(t)
	c := jsonline.New(ends[0])
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = ends[1].Read(make([]byte, 1))
		cancel()
	}()
	long, _ := json.Marshal(strings.Repeat("x", 4<<20))
	if _, err := c.Start(ctx, "long", long); !errors.Is(err, context.Canceled) { // its cancel waits, too
		t.Errorf("a call = %v", err)
	}
	waits := make(chan error, 1)
	go func() { waits <- c.Notify("waits", nil) }()
	c.Close()
	if err := <-waits; !errors.Is(err, jsonline.ErrClosed) {
		t.Errorf("a message that waited = %v", err)
	}
}

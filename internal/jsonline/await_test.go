//go:build unix

package jsonline_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/jsonline"
)

// ends returns the two ends of a socket.
func ends(t *testing.T) (ends [2]*os.File) {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, fd := range pair {
		syscall.CloseOnExec(fd)
		if err := syscall.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
		ends[i] = os.NewFile(uintptr(fd), "end")
		t.Cleanup(func() { _ = ends[i].Close() })
	}
	return ends
}

// caller is a connection whose calls read for themselves, and the other end of its socket.
type caller struct {
	*jsonline.Conn
	other   *os.File
	lines   *bufio.Scanner         // what the other end receives
	handled chan *jsonline.Message // requests and notifications of the other end
	served  chan error             // the error of Serve
}

func newCaller(t *testing.T) *caller {
	t.Helper()
	files := ends(t)
	c := &caller{
		Conn: jsonline.New(files[0]), other: files[1], lines: bufio.NewScanner(files[1]),
		handled: make(chan *jsonline.Message, 1000), served: make(chan error, 1),
	}
	go func() { c.served <- c.Serve(func(m *jsonline.Message) { c.handled <- m }) }() // ends with the sockets
	t.Cleanup(func() {
		c.Close()
		<-c.Done()
	})
	return c
}

// ask calls the other end and returns its result, or the cause of ctx.
func (c *caller) ask(ctx context.Context) (string, error) {
	answer := make(chan *jsonline.Message, 1)
	id := c.NextID()
	if _, err := c.Ask(ctx, id, "ask", nil, func(m *jsonline.Message) { answer <- m }); err != nil {
		return "", err
	}
	select {
	case m := <-answer:
		if want := fmt.Sprint(id); string(m.Result) != want {
			return "", fmt.Errorf("result %s, want %s", m.Result, want)
		}
		return string(m.Result), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-c.Done():
		return "", jsonline.ErrClosed
	}
}

// receive returns the next request at the other end.
func (c *caller) receive() (*jsonline.Message, error) {
	if !c.lines.Scan() {
		return nil, io.ErrUnexpectedEOF
	}
	return jsonline.Decode(c.lines.Bytes())
}

// answer answers requests at the other end with their IDs, until the connection ends. before is sent before each answer.
func (c *caller) answer(before string) {
	for {
		m, err := c.receive()
		if err != nil {
			return
		}
		_, _ = fmt.Fprintf(c.other, `%s{"jsonrpc":"2.0","id":%d,"result":%d}`+"\n", before, m.ID, m.ID)
	}
}

// Each of many callers gets its own answer, whoever reads it, and Serve gets everything else.
func TestAwait(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{"answers only": "", "notifications": `{"jsonrpc":"2.0","method":"log"}` + "\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t)
			go c.answer(before) // ends with the sockets
			var callers sync.WaitGroup
			const count, calls = 4, 100
			for range count {
				callers.Go(func() {
					for range calls {
						if _, err := c.ask(t.Context()); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			callers.Wait()
			if _, err := c.Call(t.Context(), "call", nil); err != nil {
				t.Error(err)
			}
			want := 0
			if before != "" {
				want = count*calls + 1
			}
			if got := len(c.handled); got != want {
				t.Errorf("%d notifications, want %d", got, want)
			}
		})
	}
}

// A caller stops reading when its context ends, in the middle of a line too, and later calls get whole messages.
func TestAwaitCanceled(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		asked := make(chan error, 1)
		go func() {
			_, err := c.ask(ctx)
			asked <- err
		}()
		m, err := c.receive()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(c.other, `{"jsonrpc":"2.0",`)
		cancel()
		if err := <-asked; !errors.Is(err, context.Canceled) {
			t.Fatalf("canceled call %d: %v", i, err)
		}
		_, _ = fmt.Fprintf(c.other, `"id":%d,"result":%d}`+"\n", m.ID, m.ID)
		go func() {
			_, err := c.ask(t.Context())
			asked <- err
		}()
		if m, err = c.receive(); err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(c.other, `{"jsonrpc":"2.0","id":%d,"result":%d}`+"\n", m.ID, m.ID)
		if err := <-asked; err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
}

// Serve gets what comes after an answer, although callers read for themselves then, and the reason for the end that a caller saw.
func TestAwaitThenServe(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	asked := make(chan error, 1)
	for range 20 {
		go func() {
			_, err := c.ask(t.Context())
			asked <- err
		}()
		m, err := c.receive()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(c.other, `{"jsonrpc":"2.0","id":%d,"result":%d}`+"\n"+`{"jsonrpc":"2.0","method":"log"}`+"\n", m.ID, m.ID)
		if err := <-asked; err != nil {
			t.Fatal(err)
		}
		select {
		case <-c.handled:
		case <-time.After(30 * time.Second):
			t.Fatal("Serve does not read")
		}
	}
	go func() {
		_, err := c.ask(t.Context())
		asked <- err
	}()
	if _, err := c.receive(); err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprintln(c.other, "garbage")
	if err := <-asked; !errors.Is(err, jsonline.ErrClosed) {
		t.Errorf("the call ended with %v", err)
	}
	if err := <-c.served; !errors.Is(err, jsonline.ErrBadMessage) {
		t.Errorf("Serve ended with %v", err)
	}
}

// A call does not read after Serve ended with a bad message.
func TestAskAfterServe(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	_, _ = fmt.Fprintln(c.other, "garbage")
	<-c.Done()
	if sent, err := c.Ask(t.Context(), c.NextID(), "ask", nil, func(*jsonline.Message) {}); !sent || err != nil {
		t.Errorf("the request was not sent: %v", err)
	}
}

// drained is a stream whose reads end at a deadline that its owner has set.
type drained struct{ io.ReadWriteCloser }

func (drained) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

func TestServeEndsAtForeignDeadline(t *testing.T) {
	t.Parallel()
	if err := jsonline.New(drained{ends(t)[0]}).Serve(func(*jsonline.Message) {}); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Serve ended with %v", err)
	}
}

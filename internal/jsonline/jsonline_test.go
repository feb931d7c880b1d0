package jsonline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/internal/jsonline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDecode(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"hook","params":{"a":1}}`:  "",
		`{"jsonrpc":"2.0","method":"log"}`:                           "",
		`{"jsonrpc":"2.0","id":1,"result":null}`:                     "",
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                       "",
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}`: "",
		`hello`:                                  `bad message: invalid character 'h' looking for beginning of value: "hello"`,
		`[]`:                                     "want an object with the fields of a message",
		`{"id":1,"result":{}}`:                   `want "jsonrpc": "2.0"`,
		`{"jsonrpc":"2.0","id":0,"result":{}}`:   "positive number",
		`{"jsonrpc":"2.0","id":"a","result":{}}`: "want a positive number as id",
		`{"jsonrpc":"2.0"}`:                      "neither a method nor an id",
		`{"jsonrpc":"2.0","id":1}`:               "either a result or an error",
		`{"jsonrpc":"2.0","id":1,"method":"a","result":1}`:                 "both a method and a result",
		`{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1}}`:           "either a result or an error",
		`{"jsonrpc":"2.0","id":1,"method":` + strings.Repeat("x", 100_000): `{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":xxxx`,
	} {
		_, err := jsonline.Decode([]byte(line))
		if want == "" && err != nil || want != "" && (!errors.Is(err, jsonline.ErrBadMessage) || !strings.Contains(err.Error(), want)) {
			t.Errorf("Decode(%.60s) = %v, want %q", line, err, want)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("Decode(%.60s): error of %d bytes", line, len(err.Error()))
		}
	}
}

// serve connects two ends, of which the second answers by handle.
func serve(t *testing.T, handle func(c *jsonline.Conn, m *jsonline.Message)) *jsonline.Conn {
	t.Helper()
	a, b := net.Pipe()
	here, there := jsonline.New(a), jsonline.New(b)
	go func() { _ = there.Serve(func(m *jsonline.Message) { go handle(there, m) }) }() // ends with the pipe
	go func() { _ = here.Serve(func(*jsonline.Message) {}) }()
	t.Cleanup(func() {
		here.Close()
		<-here.Done()
		<-there.Done()
	})
	return here
}

func TestCall(t *testing.T) {
	t.Parallel()
	canceled := make(chan string, 1)
	c := serve(t, func(c *jsonline.Conn, m *jsonline.Message) {
		switch m.Method {
		case "echo":
			_ = c.Reply(m.ID, m.Params, nil)
		case "fail":
			_ = c.Reply(m.ID, nil, &jsonline.Error{Code: 7, Message: "no luck", Data: json.RawMessage(`{"a":1}`)})
		case "cancel":
			canceled <- string(m.Params)
		}
	})
	got, err := c.Call(t.Context(), "echo", json.RawMessage("{\n\"text\": \"a\\nb\"}"))
	if err != nil || string(got) != `{"text":"a\nb"}` {
		t.Errorf("echo = %s, %v", got, err)
	}
	long := `"` + strings.Repeat("x", 300_000) + `"`
	if got, err := c.Call(t.Context(), "echo", json.RawMessage(long)); err != nil || string(got) != long {
		t.Errorf("echo of a long text = %d bytes, %v", len(got), err)
	}
	var problem *jsonline.Error
	if _, err := c.Call(t.Context(), "fail", nil); !errors.As(err, &problem) || problem.Code != 7 || string(problem.Data) != `{"a":1}` {
		t.Errorf("fail = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	call, err := c.Start(ctx, "never", nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if m, err := call.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled call = %v, %v", m, err)
	}
	if got := <-canceled; got != `{"id":4}` {
		t.Errorf("cancel %s", got)
	}
	if _, err := c.Call(ctx, "echo", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was canceled before = %v", err)
	}
	c.Close()
	<-c.Done()
	if _, err := c.Call(t.Context(), "echo", nil); !errors.Is(err, jsonline.ErrClosed) {
		t.Errorf("a call after the end = %v", err)
	}
}

// A call that wants no messages before its response drops them.
func TestCallDropsUpdates(t *testing.T) {
	t.Parallel()
	var caller *jsonline.Conn
	caller = serve(t, func(c *jsonline.Conn, m *jsonline.Message) {
		caller.Update(m.ID, &jsonline.Message{Method: "event"})
		_ = c.Reply(m.ID, m.Params, nil)
	})
	if got, err := caller.Call(t.Context(), "echo", json.RawMessage("1")); err != nil || string(got) != "1" {
		t.Errorf("echo = %s, %v", got, err)
	}
}

// A receiver that does not receive stops the reader only after many messages. Close ends that wait, and what had room is received afterwards.
func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	c := serve(t, func(*jsonline.Conn, *jsonline.Message) {})
	call, err := c.Start(t.Context(), "slow", nil)
	if err != nil {
		t.Fatal(err)
	}
	const size, room = 1 << 10, 1024 / 5 // a message of this size counts as 5 units
	message := &jsonline.Message{Method: "event", Params: make(json.RawMessage, size)}
	for range room {
		c.Update(1, message)
	}
	full := make(chan struct{})
	go func() {
		c.Update(1, message)
		close(full)
	}()
	if _, err := call.Next(); err != nil {
		t.Error(err)
	}
	<-full
	go func() {
		c.Update(1, &jsonline.Message{Method: "event", Params: make(json.RawMessage, 1<<20)})
		c.Update(1, &jsonline.Message{Result: json.RawMessage("1")})
		c.Close()
	}()
	for range room {
		if m, err := call.Next(); err != nil || len(m.Params) != size {
			t.Fatalf("got %+v, %v", m, err)
		}
	}
	if m, err := call.Next(); err != nil || len(m.Params) != 1<<20 {
		t.Fatalf("a long message: %+v, %v", m, err)
	}
	if m, err := call.Next(); err != nil || string(m.Result) != "1" {
		t.Fatalf("the response: %+v, %v", m, err)
	}
	<-c.Done()
	stuck := make(chan struct{})
	go func() {
		for range room + 1 {
			c.Update(1, message)
		}
		close(stuck)
	}()
	<-stuck
}

// input is a stream that is only read.
type input struct{ io.Reader }

func (input) Write(p []byte) (int, error) { return len(p), nil }
func (input) Close() error                { return nil }

// endless returns x without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestServeEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   io.Reader
		want error
	}{
		"at the end":    {strings.NewReader("{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\r\n\r\n"), io.EOF},
		"in a line":     {strings.NewReader("{"), io.ErrUnexpectedEOF},
		"at garbage":    {strings.NewReader("garbage\n"), jsonline.ErrBadMessage},
		"without lines": {endless{}, jsonline.ErrTooLong},
	} {
		if err := jsonline.New(input{c.in}).Serve(func(*jsonline.Message) {}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// FuzzServe checks that no input makes the decoder panic, and that every message it takes is encoded to an equal message on one line.
func FuzzServe(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"hook","params":{"a":[1]}}` + "\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"a":"\n"}}` + "\n" + `{"jsonrpc":"2.0","method":"log","params":7}` + "\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":18446744073709551615,"error":{"code":-32601,"message":"\u0000","data":{}}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = jsonline.New(input{bytes.NewReader(data)}).Serve(func(*jsonline.Message) {})
		m, err := jsonline.Decode(data)
		if err != nil {
			return
		}
		line, err := jsonline.Encode(m)
		if err != nil || bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("encoded %q, %v", line, err)
		}
		again, err := jsonline.Decode(line[:len(line)-1])
		if err != nil || again.ID != m.ID || again.Method != m.Method || (again.Error == nil) != (m.Error == nil) {
			t.Errorf("%q became %q: %+v, %v", data, line, again, err)
		}
	})
}

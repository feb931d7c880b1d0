package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/mcp/internal/sse"
)

// A message that is too long ends the connection, and the reason says so.
func TestLongMessageOverSSE(t *testing.T) {
	t.Parallel()
	initialized := make(chan struct{}, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			initialized <- struct{}{}
			return
		}
		w.Header().Set("Content-Type", mediaEvents)
		fmt.Fprint(w, "event: endpoint\ndata: /messages\n\n")
		_ = http.NewResponseController(w).Flush()
		<-initialized
		fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		<-initialized
		fmt.Fprint(w, "data: "+strings.Repeat("x", maxMessageBytes)+"\n\n")
	}))
	t.Cleanup(server.Close)
	d := &Dialer{
		Remote: &Remote{URL: server.URL, SSE: true}, Timeout: 10 * time.Second, Log: NewLog("", nil), Notified: func(string, map[string]any) {},
	}
	c, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	select {
	case <-c.Lost():
	case <-time.After(20 * time.Second):
		t.Fatal("the connection stays")
	}
	if !errors.Is(c.Cause(), errTooLong) {
		t.Errorf("cause %v, want %v", c.Cause(), errTooLong)
	}
}

// A call that the server has received is not repeated if another request cannot connect.
func TestCallDuringFailedConnect(t *testing.T) {
	t.Parallel()
	received := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			received <- struct{}{}
			return
		}
		w.Header().Set("Content-Type", mediaEvents)
		fmt.Fprint(w, "event: endpoint\ndata: /messages\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	c := newConn(t.Context(), &Dialer{Remote: &Remote{URL: server.URL}, Log: NewLog("", nil)})
	carrier := newSSE(c).(*httpSSE)
	var down atomic.Bool
	carrier.inner.DisableKeepAlives = true
	carrier.inner.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if down.Load() {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("connection refused")}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	c.carrier = carrier
	defer c.Close()
	if err := carrier.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	call := make(chan error, 1)
	go func() {
		_, err := c.exchange(t.Context(), string(mcp.MethodToolsCall), nil, nil)
		call <- err
	}()
	<-received
	down.Store(true)
	if _, err := c.exchange(t.Context(), string(mcp.MethodToolsCall), nil, nil); !Unsent(err) {
		t.Errorf("a request without a connection: %v, which may be repeated", err)
	}
	if err := <-call; !Broken(err) || Unsent(err) {
		t.Errorf("the call that was received: %v, may be repeated: %v", err, Unsent(err))
	}
}

// Some servers send pings as events, which are not for the log of a server's invalid output.
func TestEventsOfOtherKinds(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	web := newWeb(&Remote{}, newConn(t.Context(), &Dialer{Log: NewLog(log, nil)}))
	read := func(stream string) string {
		if err := web.drain(t.Context(), nil, sse.NewReader(strings.NewReader(stream), maxMessageBytes)); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		content, _ := os.ReadFile(log) // missing without a line
		return string(content)
	}
	if got := read("event: ping\ndata: 2026-01-01\n\n"); got != "" {
		t.Errorf("a ping is logged: %s", got)
	}
	if got := read("data: 2026-01-01\n\n"); !strings.Contains(got, "not a message") {
		t.Errorf("invalid output is not logged: %q", got)
	}
}

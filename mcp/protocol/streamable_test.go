package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// A request whose answer began was sent, even if tenon cannot connect again for the rest of the answer.
func TestRestOfAnswerCannotBeRequested(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaEvents)
		w.Header().Set("Connection", "close")
		fmt.Fprint(w, "retry: 1\nid: e\n\n")
	}))
	defer server.Close()
	c := newConn(t.Context(), &Dialer{})
	web := newWeb(&Remote{URL: server.URL}, c)
	var dials atomic.Int32
	web.inner.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials.Add(1) > 1 {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("network is unreachable")}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	c.carrier = &streamable{web: web}
	defer c.Close()
	_, err := c.request(t.Context(), &outgoing{JSONRPC: mcp.JSONRPC_VERSION, ID: []byte("1"), Method: string(mcp.MethodToolsCall)})
	if !errors.Is(err, errCutShort) || Unsent(err) || dials.Load() != 2 {
		t.Errorf("after %d dials: %v, may be repeated: %v", dials.Load(), err, Unsent(err))
	}
}

// tenon does not wait for the rest of an answer that it cannot use.
func TestRefusalThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNotFound)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	d := &Dialer{Remote: &Remote{URL: server.URL}, Timeout: time.Minute, Log: NewLog("", nil)}
	c := newConn(t.Context(), d)
	c.carrier = newStreamable(c)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := c.request(ctx, &outgoing{JSONRPC: mcp.JSONRPC_VERSION, ID: []byte("1"), Method: string(mcp.MethodInitialize)})
	if !errors.As(err, new(*statusError)) || ctx.Err() != nil {
		t.Errorf("refused with %v, %v", err, ctx.Err())
	}
}

// In the stateless revision, the answer to a request with an unknown method has the status 404. The connection stays.
func TestUnknownMethod(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such list"}}`)
	}))
	defer server.Close()
	c := newConn(t.Context(), &Dialer{Remote: &Remote{URL: server.URL}, Log: NewLog("", nil)})
	c.carrier = newStreamable(c)
	defer c.Close()
	c.version.Store(mcp.LATEST_PROTOCOL_VERSION)
	_, _, err := c.ListOf(t.Context(), "resources/templates/list", "resourceTemplates")
	if err == nil || !strings.Contains(err.Error(), "no such list") || Broken(err) || c.Cause() != nil {
		t.Errorf("list: %v; connection: %v", err, c.Cause())
	}
}

// The end of a stream of notifications affects no call. The stream is requested again, and the lists may have changed meanwhile.
func TestNotificationsEnd(t *testing.T) {
	t.Parallel()
	var streams atomic.Int32
	again := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked message
		_ = json.NewDecoder(r.Body).Decode(&asked)
		if asked.Method == string(mcp.MethodSubscriptionsListen) {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			if streams.Add(1) == 2 {
				close(again)
				<-r.Context().Done()
			}
			return
		}
		select {
		case <-again:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, asked.ID)
	}))
	defer server.Close()
	changed := make(chan string, 1)
	d := &Dialer{Remote: &Remote{URL: server.URL}, Log: NewLog("", nil), Notified: func(method string, _ map[string]any) { changed <- method }}
	c := newConn(t.Context(), d)
	c.carrier = newStreamable(c)
	defer c.Close()
	c.version.Store(mcp.LATEST_PROTOCOL_VERSION)
	called := make(chan error, 1)
	go func() {
		_, err := c.Request(t.Context(), string(mcp.MethodToolsList), nil)
		called <- err
	}()
	c.listen(mcp.SubscriptionFilter{ToolsListChanged: true})
	select {
	case err := <-called:
		if err != nil || <-changed != string(mcp.MethodNotificationToolsListChanged) {
			t.Error(err)
		}
	case <-c.Lost():
		t.Error(c.Cause())
	}
}

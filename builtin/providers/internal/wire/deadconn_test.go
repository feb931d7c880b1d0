package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// deadable is a connection that can stop to deliver what is written, without an error, as after the machine slept.
type deadable struct {
	net.Conn
	dead *atomic.Bool
}

func (c deadable) Write(p []byte) (int, error) {
	if c.dead.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// pipes is a listener without a network.
type pipes struct {
	conns  chan net.Conn
	closed context.Context
	close  context.CancelFunc
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed.Done():
		return nil, net.ErrClosed
	}
}
func (l *pipes) Close() error { l.close(); return nil }
func (*pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestDeadConnection: a request on an HTTP/2 connection that died silently fails before its timeout, and the next request uses another
// connection.
func TestDeadConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list, die := serveUntilDead(t, true)
		if err := list(); err != nil {
			t.Fatal(err)
		}
		die()
		began := time.Now()
		var failed *sdk.ProviderError
		if err := list(); !errors.As(err, &failed) || failed.StatusCode != 0 || time.Since(began) > time.Minute {
			t.Errorf("on the dead connection: %v after %v, want a failure within a minute", err, time.Since(began))
		}
		if err := list(); err != nil {
			t.Errorf("the next request: %v", err)
		}
	})
}

// TestDeadIdleConnection: a connection that was idle for 20 seconds is not used again. On one of HTTP/1.1 that died silently, a request would
// wait until its timeout.
func TestDeadIdleConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list, die := serveUntilDead(t, false)
		for range 2 {
			began := time.Now()
			if err := list(); err != nil || time.Since(began) > time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			die()
			time.Sleep(20 * time.Second)
		}
	})
}

// serveUntilDead starts a server and returns a function that requests a list from it, and one that ends its latest connection silently.
func serveUntilDead(t *testing.T, http2 bool) (list func() error, die func()) {
	t.Helper()
	listener := &pipes{conns: make(chan net.Conn)}
	listener.closed, listener.close = context.WithCancel(t.Context())
	server := &httptest.Server{Listener: listener, EnableHTTP2: http2, Config: &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":[]}`) }),
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // of the connection that broke off
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	var dead *atomic.Bool // of the latest connection
	transport := NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	transport.Proxy = nil
	transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
	transport.TLSClientConfig.RootCAs.AddCert(server.Certificate())
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		listener.conns <- theirs
		dead = &atomic.Bool{}
		return deadable{ours, dead}, nil
	}
	info := sdk.ProviderInfo{ID: "p", BaseURL: "https://example.com"}
	conn, err := Open(Setup{Info: info, Options: NewOptions(&info), Transport: transport, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return func() error {
		_, err := List(t.Context(), conn, "models", "data", func(*struct{}) sdk.Model { return sdk.Model{} })
		return err
	}, func() { dead.Store(true) }
}

package protocol

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
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

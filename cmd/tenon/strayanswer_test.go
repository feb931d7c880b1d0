package main_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A server sends more than one answer to a request. The rest does not appear on the terminal.
func TestStrayAnswer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		const answer = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%sSTRAY", len(answer), answer)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = conn.Read(make([]byte, 1)) // until the client closes it
	}))
	t.Cleanup(s.Close)
	p := newProcess(t, "")
	p.env = append(p.env, fmt.Sprintf(`TENON_CONFIG_CONTENT={"provider": {"local": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": %q}, "models": {"m": {}}}}}`, s.URL))
	if out, errs := p.output(t, 0, "run", "-m", "local/m", "--title", "t", "hello"); !strings.Contains(out, "hi") || strings.Contains(errs, "STRAY") {
		t.Errorf("output: %s%s", out, errs)
	}
}

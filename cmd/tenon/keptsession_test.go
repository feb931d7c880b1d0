package main_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A new session whose model cannot be reached is deleted, but not after a tool call: its effects can be undone only in the session.
func TestToolCallKeepsTheSession(t *testing.T) {
	t.Parallel()
	for calls, want := range map[string]string{
		"": "[]\n",
		`{"index": 0, "id": "c", "type": "function", "function": {"name": "glob", "arguments": "{\"pattern\": \"*\"}"}}`: `"id": "ses_`,
	} {
		s := httptest.NewUnstartedServer(nil)
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Connection", "close")
			if strings.Contains(string(body), `"tools"`) { // not the request for a title
				_ = s.Listener.Close()
				fmt.Fprintf(w, "data: {\"choices\": [{\"delta\": {\"tool_calls\": [%s]}}]}\n\n", calls)
			}
			fmt.Fprint(w, "data: {\"choices\": [{\"delta\": {}, \"finish_reason\": \"tool_calls\"}]}\n\ndata: [DONE]\n\n")
		})
		s.Start()
		t.Cleanup(s.Close)
		if calls == "" {
			s.Close()
		}
		p := newProcess(t, s.URL)
		p.output(t, 1, "run", "hello")
		if list, _ := p.output(t, 0, "session", "list", "--format", "json"); !strings.Contains(list, want) {
			t.Errorf("after the calls %q: %s", calls, list)
		}
	}
}

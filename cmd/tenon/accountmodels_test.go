package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Copilot's list of models determines the wire format of each model; it is requested once. A model that the account does not have, and
// a refused sign-in, are errors with a remedy.
func TestAccountModels(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var paths []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, r.URL.Path)
		if r.Header.Get("Authorization") != "Bearer good-token" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error": {"message": "bad credentials"}}`)
			return
		}
		switch r.URL.Path {
		case "/models":
			fmt.Fprint(w, `{"data": [{"id": "claude-sonnet-9", "supported_endpoints": ["/chat/completions"]}, {"id": "gpt-4.1", "supported_endpoints": ["/v1/messages", "/responses"]},
				{"id": "gpt-9", "policy": {"state": "disabled"}}]}`)
		case "/chat/completions":
			fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"by chat\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		case "/v1/messages":
			fmt.Fprint(w, `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`+"\n\n"+
				`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"by messages"}}`+"\n\n"+
				`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}`+"\n\n"+`data: {"type":"message_stop"}`+"\n\n")
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(s.Close)
	p := newProcess(t, "")
	env := p.env
	config := func(key string) string {
		return fmt.Sprintf(`TENON_CONFIG_CONTENT={"provider": {"github-copilot": {"options": {"baseURL": %q, "apiKey": %q}}}}`, s.URL, key)
	}
	p.env = append(env, config("good-token"))
	for _, c := range []struct {
		code        int
		model, want string
		requests    string
	}{
		{0, "claude-sonnet-9", "by chat", "/models /chat/completions"},
		{0, "gpt-4.1", "by messages", "/models /v1/messages"},
		{6, "gpt-9", `does not offer model "gpt-9" to your account`, "/models"},
	} {
		mu.Lock()
		paths = nil
		mu.Unlock()
		out := p.typed(t, c.code, "", "run", "-m", "github-copilot/"+c.model, "--title", "t", "hello")
		if got := strings.Join(paths, " "); !strings.Contains(out, c.want) || got != c.requests {
			t.Errorf("%s: %s after requests for %s, want %q after %s", c.model, out, got, c.want, c.requests)
		}
	}
	p.env = append(env, config("bad-token"))
	if out := p.typed(t, 6, "", "run", "-m", "github-copilot/gpt-4.1", "hello"); !strings.Contains(out, "list of models") || !strings.Contains(out, "bad credentials") || strings.Contains(out, "bad-token") {
		t.Errorf("a refused sign-in: %s", out)
	}
}

package main_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// streaming is a model server whose behavior is the name of the model.
func streaming(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return // the client left
		}
		send := func(text string) {
			fmt.Fprint(w, text)
			_ = http.NewResponseController(w).Flush() // an error means that the client left
		}
		const piece = `{"text":"word "}` + "\n"
		switch r.URL.Path {
		case "/slow": // a line in many pieces
			for _, b := range []byte(piece + piece + `{"done":true}` + "\n") {
				send(string(b))
			}
		case "/stall":
			send(piece)
			<-r.Context().Done()
		case "/silent":
			<-r.Context().Done()
		case "/cut":
			send(piece + `{"te`)
			panic(http.ErrAbortHandler)
		case "/short": // ends without its last line
			send(piece)
		case "/flood":
			for r.Context().Err() == nil {
				send(`{"text":"` + strings.Repeat("x", 900<<10) + "\"}\n")
			}
		case "/line": // without an end
			for r.Context().Err() == nil {
				send(strings.Repeat("x", 64<<10))
			}
		case "/garbage":
			send(piece + "\x00\xff\x1b[2J{]\n")
		default:
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, "\x1b[2Jtoo many")
		}
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// TestWASMProvider: a module that the Go compiler made speaks to a streaming server. A slow one answers; every other behavior of the server ends
// the turn with an error that names the cause, and text of the server does not control the terminal.
func TestWASMProvider(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a guest written in Go takes minutes to compile under the race detector; runs without -short")
	}
	s := streaming(t)
	p := newProcess(t, "")
	env := p.env[:len(p.env)-1]
	config := func(options string) string {
		return `TENON_CONFIG_CONTENT={"retry": {"max": 0}, "plugins": ["./streamguest"], "provider": {"acme": {"options": {` + options + `}}}}`
	}
	p.env = append(env, config(""))
	dir := filepath.Join(p.work, "streamguest")
	put(t, filepath.Join(dir, "plugin.json"), fmt.Sprintf(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "streamguest", "version": "1.0.0", "extensions": {"io.github.tenonhq": {
		"runtime": {"type": "wasm", "module": "./plugin.wasm"}, "protocols": ["lines"], "providers": [{"id": "acme", "protocol": "lines", "baseURL": %q}],
		"capabilities": [{"name": "auth", "scope": ["acme"]}, {"name": "http", "scope": [%q]}]}}}`, s.URL, s.URL))
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-o", filepath.Join(dir, "plugin.wasm"), "./testdata/streamguest")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	must(t, shareModules(p.dataDir()))
	p.output(t, 0, "plugin", "trust", "./streamguest", "--yes")
	for model, c := range map[string]struct {
		code int
		want string
	}{ // those that end by a time limit get a short one
		"slow":    {0, "word word"},
		"stall":   {1, "sent no part of an answer"},
		"silent":  {1, "sent no part of an answer"},
		"cut":     {1, "unexpected EOF"},
		"short":   {1, "unexpected EOF"},
		"flood":   {1, "longer than 16 MiB"},
		"line":    {1, "buffer full"},
		"garbage": {1, "invalid character"},
		"refusal": {1, "too many (status 429)"},
	} {
		p.env = append(env, config(""))
		if model == "stall" || model == "silent" {
			p.env = append(env, config(`"answerTimeout": 1500`))
		}
		if out := p.typed(t, c.code, "", "run", "-m", "acme/"+model, "--title", "t", "hello"); !strings.Contains(out, c.want) || strings.Contains(out, "\x1b[2J") {
			t.Errorf("%s: %.2000s, want %q", model, out, c.want)
		}
	}
}

package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/internal/credentials"
)

// keyServer is a provider that accepts keys that begin with "good", and keeps the keys it was sent.
type keyServer struct {
	*httptest.Server
	mu   sync.Mutex
	keys []string
}

func newKeyServer(t *testing.T) *keyServer {
	t.Helper()
	s := &keyServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		s.mu.Lock()
		s.keys = append(s.keys, key)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasPrefix(key, "good") {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error": {"message": "bad key"}}`)
			return
		}
		fmt.Fprint(w, `{"data": [{"id": "m1"}, {"id": "m2"}]}`)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *keyServer) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[len(s.keys)-1]
}

// config returns the configuration of the provider, with further options.
func (s *keyServer) config(options string) string {
	return fmt.Sprintf(`TENON_CONFIG_CONTENT={"model": "mine/m1", "provider": {"mine": {"npm": "@ai-sdk/openai-compatible", "env": ["MINE_KEY"], "options": {"baseURL": %q%s}}}}`, s.URL, options)
}

// typed runs the command with a text on stdin.
func (p *process) typed(t *testing.T, code int, stdin string, args ...string) string {
	t.Helper()
	cmd := p.command(args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, _ := cmd.CombinedOutput() // the code tells
	if have := cmd.ProcessState.ExitCode(); have != code {
		t.Fatalf("tenon %q: exit code %d, want %d\n%s", args, have, code, out)
	}
	return string(out)
}

// A stored key is tested and used, after those of the configuration and the environment. It is never printed.
func TestAuthLogin(t *testing.T) {
	t.Parallel()
	s := newKeyServer(t)
	p := newProcess(t, "")
	env := p.env
	p.env = append(env, s.config(""))
	for _, c := range []struct {
		code  int
		stdin string
		args  []string
		want  string
	}{
		{2, "", []string{"auth", "login"}, "github-copilot"},
		{2, "secret-key", []string{"auth", "login", "mien"}, `unknown provider "mien"`},
		{2, " \n", []string{"auth", "login", "mine"}, "is empty"},
		{2, "two\nlines", []string{"auth", "login", "mine"}, "copy the key again, as one line"},
		{2, "", []string{"auth", "login", "mine", "--env", "NONE"}, "NONE is not set"},
		{2, "", []string{"auth", "logout", "mine"}, "no stored credentials"},
		{6, "wrong-secret-key\n", []string{"auth", "login", "mine"}, "refused them"},
		{6, "", []string{"doctor"}, "refuses the credentials"},
		{0, "good-stored-key\n", []string{"auth", "login", "mine"}, "tested: mine lists 2 models"},
		{0, "", []string{"auth", "list", "--format", "json"}, `"provider": "mine"`},
		{0, "", []string{"doctor"}, "answers and lists 2 models"},
	} {
		if out := p.typed(t, c.code, c.stdin, c.args...); !strings.Contains(out, c.want) || strings.Contains(out, "secret-key") || strings.Contains(out, "stored-key") {
			t.Errorf("tenon %q: %s, want %q and no key", c.args, out, c.want)
		}
	}
	if key := s.last(); key != "good-stored-key" {
		t.Errorf("sent %q, want the stored key", key)
	}
	file := filepath.Join(p.dataDir(), credentials.File)
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode of %s = %v, %v, want 0600", file, info.Mode(), err)
	}
	p.env = append(env, s.config(""), "MINE_KEY=good-environment")
	p.output(t, 0, "doctor")
	if key := s.last(); key != "good-environment" {
		t.Errorf("sent %q, want the key of the environment", key)
	}
	p.env = append(env, s.config(`, "apiKey": "good-config"`), "MINE_KEY=good-environment")
	p.output(t, 0, "doctor")
	if key := s.last(); key != "good-config" {
		t.Errorf("sent %q, want the key of the configuration", key)
	}
	must(t, os.WriteFile(file, []byte("[]"), 0o600))
	if out := p.typed(t, 1, "", "auth", "list"); strings.Contains(out, "no stored credentials") || !strings.Contains(out, "sign in again with tenon auth login") {
		t.Errorf("list of a damaged file: %s, want the remedy", out)
	}
}

// opencode's keys are used, and its file is not changed. A file that others can read is refused with the remedy.
func TestAuthOtherFiles(t *testing.T) {
	t.Parallel()
	s := newKeyServer(t)
	p := newProcess(t, "")
	p.env = append(p.env, s.config(""), `OPENCODE_AUTH_CONTENT={"mine": {"type": "api", "key": "good-opencode"}}`)
	out, _ := p.output(t, 0, "auth", "list")
	if !strings.Contains(out, "opencode's auth.json") {
		t.Errorf("list: %s, want the source", out)
	}
	p.output(t, 0, "doctor")
	if key := s.last(); key != "good-opencode" {
		t.Errorf("sent %q, want opencode's key", key)
	}
	p.typed(t, 0, "good-own", "auth", "login", "mine")
	if key := s.last(); key != "good-own" {
		t.Errorf("sent %q, want the stored key before opencode's", key)
	}
	if runtime.GOOS == "windows" {
		return
	}
	file := filepath.Join(p.dataDir(), credentials.File)
	must(t, os.Chmod(file, 0o644))
	if _, errs := p.output(t, 0, "doctor"); !strings.Contains(errs, "chmod 600") {
		t.Errorf("doctor with a readable file: %s, want the remedy", errs)
	}
}

// A project that changes the address of a provider does not get its stored key.
func TestStoredKeyStaysHome(t *testing.T) {
	t.Parallel()
	s := newKeyServer(t)
	p := newProcess(t, "")
	env := p.env
	p.env = append(env, s.config(""))
	p.typed(t, 0, "good-stored", "auth", "login", "mine")
	sent := len(s.keys)
	p.env = append(env, `TENON_CONFIG_CONTENT={"model": "mine/m1"}`)
	must(t, os.WriteFile(filepath.Join(p.work, "tenon.json"), fmt.Appendf(nil, `{"provider": {"mine": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": %q}}}}`, s.URL), 0o644))
	cmd := p.command("run", "hello")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("run: %s, want a refusal", out)
	}
	if len(s.keys) != sent {
		t.Errorf("the project's address got the key %q", s.last())
	}
}

// A proxy that requires a password keeps every request from the provider, so doctor does not report that the provider answers.
func TestDoctorBehindProxy(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	t.Cleanup(proxy.Close)
	s := keyServer{Server: &httptest.Server{URL: "https://mine.invalid/v1"}}
	p := newProcess(t, "")
	p.env = append(p.env, s.config(""), "MINE_KEY=good", "HTTPS_PROXY="+proxy.URL)
	if out, _ := p.output(t, 6, "doctor"); !strings.Contains(out, "BAD   network") || !strings.Contains(out, proxy.URL) {
		t.Errorf("doctor: %s, want the proxy as a problem of the network", out)
	}
}

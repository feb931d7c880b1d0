package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/internal/credentials"
)

// signInPlugin signs in to the provider mine and offers to sign in to the provider other, which was not requested.
const signInPlugin = `import { plugin } from "./tenon.mjs";
const method = (provider) => ({
  provider, id: "code", name: "Mine account",
  async login(call) {
    await call.operation("signin.code", { address: "https://mine.example/device", code: "AB-CD" });
    return { access: "token1", refresh: "r1" };
  },
  refresh: (t) => ({ access: t.access + "+", refresh: "r2" }),
  headers: (t) => ({ "X-Mine": t.access }),
});
plugin({ name: "minesign", version: "1.0.0", description: "Signs in", capabilities: [{ name: "auth", scope: ["mine"] }], auth: [method("mine")] });
`

// addSignIn adds and approves a plugin with a sign-in to the provider mine.
func (p *process) addSignIn(t *testing.T, source string) (out string) {
	t.Helper()
	put(t, filepath.Join(p.work, "minesign", "main.mjs"), source)
	library, err := os.ReadFile("../../sdk/node/tenon.mjs")
	must(t, err)
	put(t, filepath.Join(p.work, "minesign", "tenon.mjs"), string(library))
	put(t, filepath.Join(p.work, "minesign", "plugin.json"), `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "minesign", "version": "1.0.0", "extensions": {"io.github.tenonhq": {
		"runtime": {"type": "process", "command": ["node", "./main.mjs"]}, "capabilities": [{"name": "auth", "scope": ["mine"]}],
		"auth": [{"provider": "mine", "id": "code", "name": "Mine account", "refreshes": true, "headers": true}]}}}`)
	out, errs := p.output(t, 0, "plugin", "trust", "./minesign", "--yes")
	return out + errs
}

// A plugin signs the user in, its headers go to the provider, a refused token is refreshed once, and no other provider gets anything.
func TestPluginSignsIn(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var sent []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, r.Header.Get("X-Mine")+r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.Header.Get("X-Mine"), "+") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"data": [{"id": "m1"}]}`)
	}))
	t.Cleanup(s.Close)
	p := newProcess(t, "")
	config := func(more string) string {
		return fmt.Sprintf(`TENON_CONFIG_CONTENT={"model": "mine/m1", "provider": {"mine": {"npm": "@ai-sdk/openai-compatible", "env": ["MINE_KEY"], "options": {"baseURL": %q}}%s}, "plugins": ["./minesign"]}`, s.URL, more)
	}
	env := p.env[:len(p.env)-1]
	p.env = append(env, config(""))
	if out := p.addSignIn(t, signInPlugin); !strings.Contains(out, "FULL RIGHTS over the requests to mine") {
		t.Errorf("trust: %s, want the right in capitals", out)
	}
	out := p.typed(t, 0, "", "auth", "login", "mine", "--method", "minesign/code")
	if !strings.Contains(out, "enter the code AB-CD") || !strings.Contains(out, "tested: mine lists 1 model") || strings.Contains(out, "token1") {
		t.Errorf("login: %s, want the code, the test and no token", out)
	}
	if got := strings.Join(sent, " "); got != "token1 token1+" {
		t.Errorf("sent %q, want the token and the refreshed one", got)
	}
	stored, err := credentials.Open(filepath.Join(p.dataDir(), credentials.File)).Get(credentials.ForProvider("mine"))
	if err != nil || !strings.HasPrefix(stored.Plugin, "minesign-") || stored.Access != "token1+" {
		t.Errorf("stored %+v, %v, want the plugin's refreshed token", stored, err)
	}
	p.output(t, 0, "plugin", "disable", "minesign")
	if out := p.typed(t, 6, "", "doctor"); strings.Contains(out, "token1") {
		t.Errorf("doctor without the plugin: %s", out)
	}
	if got := strings.Join(sent, " "); strings.Count(got, "token1") != 2 {
		t.Errorf("sent %q, want no token without its plugin", got)
	}
}

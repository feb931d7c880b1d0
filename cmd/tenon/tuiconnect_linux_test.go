package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/credentials"
)

// /connect: the provider is found by search, the key is not shown, a refused key can be replaced, and the next request uses the new one.
func TestTUIConnectsWithKey(t *testing.T) {
	t.Parallel()
	s := newKeyServer(t)
	p := newProcess(t, "")
	p.env = append(p.env, s.config(""))
	x := p.onScreen(t, 100, 30)
	x.shows("Ask anything")
	enter := func(key, result string) {
		t.Helper()
		x.enter("/connect\r")
		x.shows("Provider")
		x.shows("openai")
		x.enter("mine")
		x.shows("1 of ")
		x.enter("\r")
		x.shows("Key of mine (not shown)")
		x.enter(key)
		x.shows("•••")
		if screen := x.screen(); strings.Contains(screen, "secret") {
			t.Errorf("the key is on the screen:\n%s", screen)
		}
		x.enter("\r")
		x.shows(result)
		x.hides("Connecting to mine")
	}
	enter("wrong-secret", "mine refused them")
	enter("\x1b[200~good-secret\x1b[201~", "mine lists 2 models")
	if key := s.last(); key != "good-secret" {
		t.Errorf("sent %q, want the new key", key)
	}
	x.enter("/model\r")
	x.shows("from the server") // it is asked when the picker opens
	x.enter("\x1b")
	x.hides("from the server")
	x.leave()
	stored, err := credentials.Open(p.dataDir() + "/" + credentials.File).Get(credentials.ForProvider("mine"))
	if err != nil || stored.Key != "good-secret" {
		t.Errorf("stored %+v, %v", stored, err)
	}
}

// visitPlugin shows a code and an address, and signs in with the text that the user enters.
const visitPlugin = `import { plugin } from "./tenon.mjs";
plugin({ name: "minesign", version: "1.0.0", description: "Signs in", capabilities: [{ name: "auth", scope: ["mine"] }], auth: [{
  provider: "mine", id: "code", name: "Mine account",
  async login(call) {
    await call.operation("signin.code", { address: "https://mine.example/device", code: "AB-CD" });
    const { redirect } = await call.operation("signin.visit", { address: "https://mine.example/authorize?client=tenon" });
    return { access: redirect };
  },
  refresh: (t) => t,
  headers: (t) => ({ "Authorization": "Bearer " + t.access }),
}] });
`

// /connect with a sign-in: the method is chosen, code and address are shown while the sign-in waits, and Esc cancels it.
func TestTUIConnectsWithSignIn(t *testing.T) {
	t.Parallel()
	s := newKeyServer(t)
	p := newProcess(t, "")
	p.inProject(t)
	p.env = append(p.env[:len(p.env)-1], fmt.Sprintf(
		`TENON_CONFIG_CONTENT={"model": "mine/m1", "provider": {"mine": {"npm": "@ai-sdk/openai-compatible", "env": ["MINE_KEY"], "options": {"baseURL": %q}}}, "plugins": ["./minesign"]}`, s.URL))
	p.addSignIn(t, visitPlugin)
	x := p.onScreen(t, 100, 30)
	x.shows("Ask anything")
	begin := func() {
		t.Helper()
		x.enter("/connect mine\r")
		x.shows("Sign in to mine")
		x.enter("account")
		x.shows("1 of 2")
		x.enter("\r")
		x.shows("open https://mine.example/device and enter the code AB-CD")
		x.shows("https://mine.example/authorize?client=tenon")
		x.shows("paste its address here")
	}
	begin()
	x.enter("\x1b")
	x.shows("canceled")
	x.hides("Connecting to mine")
	begin()
	x.enter("good-redirect\r")
	x.shows("mine lists 2 models")
	x.hides("Connecting to mine")
	if key := s.last(); key != "good-redirect" {
		t.Errorf("sent %q, want the token", key)
	}
	x.leave()
}

package main_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// onShop starts the terminal UI with the server shop.
func onShop(t *testing.T, columns, rows int, contract string, replies ...fakellm.Reply) (*tui, *fakellm.Server) {
	t.Helper()
	s := fakellm.New(t, replies...)
	p := newProcess(t, s.URL())
	self, err := os.Executable()
	must(t, err)
	tools := t.TempDir()
	for _, name := range []string{"form-server", "browser"} {
		must(t, os.Symlink(self, filepath.Join(tools, name)))
	}
	p.env = append(p.env, "BROWSER="+filepath.Join(tools, "browser"))
	p.output(t, 0, "mcp", "add", "shop", "-e", "CONTRACT="+contract, "--", filepath.Join(tools, "form-server"))
	x := p.onScreen(t, columns, rows, "--title", "x", "--auto")
	x.shows("Ask anything")
	return x, s
}

// result returns the latest result of a call that the model got.
func result(s *fakellm.Server) string {
	turns := s.Turns()
	messages := turns[len(turns)-1].Messages()
	return messages[len(messages)-1].Text
}

// The form of an MCP server: fields in its order with their defaults, a problem, and the content that the server gets.
func TestTUIForm(t *testing.T) {
	t.Parallel()
	x, s := onShop(t, 80, 30, "", fakellm.Call("shop_order", `{}`), fakellm.Text("Ordered."))
	x.enter("go\r")
	x.shows("MCP server shop: Your order?")
	x.shows("1 of 5")
	x.shows("› 1. Small (default)")
	x.enter("\x1b[B\r") // down to Large, choose it
	x.shows("pieces · an integer from 1 up to 9")
	x.enter("\r")
	x.shows("this question needs an answer")
	x.enter("10\r")
	x.shows("Gift")
	x.shows("› leave it empty")
	x.enter("\x1b[A\r") // up to No
	x.shows("me@home.example")
	x.enter("\x15\r") // no address, although there is a default
	x.shows("5 of 5")
	x.enter(" \x1b[B\x1b[B ") // Apple and Corn
	x.shows("› [x] Corn")
	x.enter("\r")
	x.shows("› 10") // the only invalid answer
	x.shows(`"10" is not `)
	x.enter("\x7f\x7f3\r")
	x.shows("Ordered.")
	x.leave()
	if got, want := result(s), `{"action":"accept","content":{"count":3,"extras":["a","c"],"gift":false,"size":"l"}}`; !strings.Contains(got, want) {
		t.Errorf("the server got %s, want %s", got, want)
	}
}

// A form is declined with Ctrl-D and canceled with Esc.
func TestTUIFormDeclined(t *testing.T) {
	t.Parallel()
	for action, keys := range map[string]string{"decline": "\x04", "cancel": "\x1b"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			x, s := onShop(t, 60, 20, "", fakellm.Call("shop_order", `{}`), fakellm.Text("As you like."))
			x.enter("go\r")
			x.shows("› 1. Small")
			x.enter(keys)
			x.shows("As you like.")
			x.leave()
			if got := result(s); !strings.Contains(got, `{"action":"`+action+`"}`) {
				t.Errorf("the server got %s, want %s", got, action)
			}
		})
	}
}

// An address that a server wants opened is shown whole with its host, and opened on request only.
func TestTUIVisit(t *testing.T) {
	t.Parallel()
	opened := make(chan string, 1)
	contract := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { opened <- r.URL.String() }))
	t.Cleanup(contract.Close)
	path := "/contract?for=" + strings.Repeat("x", 90) + "end"
	x, s := onShop(t, 80, 24, contract.URL+path, fakellm.Call("shop_visit", `{}`), fakellm.Text("Signed."))
	x.enter("go\r")
	x.shows("Open an address of " + strings.TrimPrefix(contract.URL, "http://"))
	x.shows("Sign the contract")
	x.shows("xend")
	x.shows("› o  Yes, open it")
	select {
	case address := <-opened:
		t.Errorf("%s was opened before the answer", address)
	default:
	}
	x.enter("o")
	x.shows("Signed.")
	if address := <-opened; address != path {
		t.Errorf("the browser opened %s, want %s", address, path)
	}
	x.leave()
	if got := result(s); !strings.Contains(got, `{"action":"accept"}`) {
		t.Errorf("the server got %s", got)
	}
}

// Tab completes the argument of an MCP server's prompt: it lists the suggestions, and inserts a chosen one. It inserts the only resource that fits
// a mention.
func TestTUIPromptArguments(t *testing.T) {
	t.Parallel()
	x, s := onShop(t, 80, 24, "", fakellm.Call("shop_order", `{}`), fakellm.Text("Started."), fakellm.Text("Deployed."))
	x.enter("go\r") // the server's prompts are known once it runs
	x.shows("› 1. Small")
	x.enter("\x1b")
	x.shows("Started.")
	x.idle()
	x.enter("/shop:dep")
	x.shows("shop:deploy")
	x.enter("\t")
	x.shows("› /shop:deploy")
	x.enter("p\t")
	x.shows("production")
	x.shows("preview")
	x.enter("\x1b[B\t\r")
	x.shows("Deployed.")
	x.enter("read @shop:no\t")
	x.shows("› read @shop:note://alpha")
	x.enter("\x15")
	x.leave()
	if got := result(s); !strings.Contains(got, "preview") {
		t.Errorf("the model got %s", got)
	}
}

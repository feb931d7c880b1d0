package main_test

import (
	"strings"
	"testing"
)

// On a terminal the session offers to sign in; what is declined is not offered again.
func TestTerminalOffersSignIn(t *testing.T) {
	t.Parallel()
	_, p := docsServer(t)
	x := p.onTerminal(t, "run", "--auto", "docs_greet {}")
	x.expect("MCP server docs requires sign-in. Sign in now?")
	x.enter("y\n")
	x.expect("/authorize?")
	x.expect("signed in to docs")
	x.expect("hello from the docs")
	if code := x.code(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}

	_, p = docsServer(t)
	x = p.onTerminal(t, "run", "--auto", "docs_greet {}")
	x.expect("Sign in now?")
	x.enter("n\n")
	x.expect("later: tenon mcp login docs")
	x.code()
	x = p.onTerminal(t, "run", "--auto", "docs_greet {}")
	x.expect("tenon mcp login docs")
	x.code()
	if text := x.text.String(); len(text) == 0 || strings.Contains(text, "Sign in now?") {
		t.Errorf("the next run: %q, want no question", text)
	}
}

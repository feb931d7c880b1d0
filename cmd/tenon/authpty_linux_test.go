package main_test

import (
	"testing"

	"github.com/tenonhq/tenon/internal/credentials"
)

// On a terminal, the provider and its sign-in method are picked by number or name, and the key is not shown.
func TestTerminalPicksProvider(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	x := p.onTerminal(t, "auth", "login", "--no-test")
	x.expect("github-copilot")
	x.expect("anthropic")
	x.expect("provider (a number or an ID;")
	x.enter("openai\n")
	x.expect("key")
	x.expect("ChatGPT account, with a code")
	x.expect("sign-in method (a number or an ID): ")
	x.enter("1\n")
	x.expect("key of openai (not shown): ")
	x.enter("good-secret\n")
	x.expect("stored the credentials of openai")
	if code := x.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	stored, err := credentials.Open(p.dataDir() + "/" + credentials.File).Get(credentials.ForProvider("openai"))
	if err != nil || stored.Key != "good-secret" {
		t.Errorf("stored %+v, %v", stored, err)
	}
	x = p.onTerminal(t, "auth", "login")
	x.expect("provider (a number or an ID;")
	x.enter("\n")
	x.expect("no provider chosen")
	if code := x.code(); code != 2 {
		t.Errorf("exit code %d, want 2", code)
	}
}

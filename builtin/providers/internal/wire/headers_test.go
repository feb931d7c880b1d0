package wire_test

import (
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	"github.com/tenonhq/tenon/builtin/providers/openai/chat"
)

// The user's header replaces that of a format, in whatever case its name is written.
func TestUsersHeaderReplaces(t *testing.T) {
	t.Parallel()
	info := wiretest.Info()
	info.NPM = "@openrouter/ai-sdk-provider"
	info.Headers = map[string]string{"x-title": "mine"}
	for range 20 { // a map has no order
		sent, _ := wiretest.Sent(t, chat.Open, info, wiretest.Hello())
		if got := sent.Header.Get("X-Title"); got != "mine" {
			t.Fatalf("X-Title is %q, want the user's", got)
		}
	}
}

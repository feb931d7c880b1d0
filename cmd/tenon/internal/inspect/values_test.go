package inspect

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// TestReveal checks which values explain shows in place of hashes: those that are stored or usual, but nothing that a hook may have taken out.
func TestReveal(t *testing.T) {
	t.Parallel()
	const secret, text, unknown = "a secret <of mine>", "harmless & short", "in no message"
	hash := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		unescaped := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(raw))
		return hooks.Hash(json.RawMessage(unescaped))
	}
	messages := []sdk.MessageWithParts{{Parts: sdk.Parts{
		&sdk.TextPart{Text: secret},
		&sdk.ToolPart{State: sdk.ToolState{Status: sdk.ToolCompleted, Input: json.RawMessage(`{"command":"harmless & short"}`)}},
	}}}
	current := []hooks.HookInfo{
		{Point: sdk.PointChatParams, Plugin: "p", Hook: "h", OnError: sdk.OnErrorSkip},
		{Point: sdk.PointToolBefore, Plugin: "p", Hook: "h", OnError: sdk.OnErrorSkip},
		{Point: sdk.PointChatMessages, Plugin: "p", Hook: "h", OnError: sdk.OnErrorSkip},
		{Point: sdk.PointChatMessages, Plugin: "guard", Hook: "h", OnError: sdk.OnErrorStop},
	}
	for name, c := range map[string]struct {
		point    sdk.Point
		plugin   string
		old, new any
		want     string
	}{
		"a parameter":          {sdk.PointChatParams, "p", 1, 0.2, "1 → 0.2"},
		"a word":               {sdk.PointChatParams, "p", nil, "high", `nothing → "high"`},
		"a limit":              {sdk.PointChatParams, "p", 32768, 64000, "32768 → 64000"},
		"a stored text":        {sdk.PointChatMessages, "p", secret, text, `"a secret <of mine>" → "harmless & short"`},
		"an unknown text":      {sdk.PointChatMessages, "p", secret, unknown, `"a secret <of mine>" → ` + hash(unknown)},
		"what a guard removes": {sdk.PointChatMessages, "guard", secret, text, hash(secret) + ` → "harmless & short"`},
		"an unknown hook":      {sdk.PointChatMessages, "gone", secret, text, hash(secret) + ` → "harmless & short"`},
		"arguments of a call":  {sdk.PointToolBefore, "p", secret, text, hash(secret) + ` → "harmless & short"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := hooks.EntryChange{Pointer: "/x", New: hash(c.new)}
			if c.old != nil {
				change.Old = hash(c.old)
			}
			list := []Explained{{Entries: []hooks.Entry{{Point: c.point, Plugin: c.plugin, Hook: "h", Changes: []hooks.EntryChange{change}}}}}
			reveal(list, messages, current)
			var b strings.Builder
			ExplainRequests(&terminal.Screen{}, &b, list)
			if !strings.Contains(b.String(), "/x  "+c.want+"\n") {
				t.Errorf("explained:\n%s\nwant %s", b.String(), c.want)
			}
		})
	}
}

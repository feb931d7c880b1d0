package mcp_test

import (
	"strings"
	"testing"

	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
)

// A prompt that names a resource waits for its server, also when the server was never seen before.
func TestReferenceInTheFirstPrompt(t *testing.T) {
	t.Parallel()
	p := start(t, newTestHost(t), fake(t, "plain"), mcp.Options{})
	parts, found, err := p.Reference(t.Context(), "fake:note://a")
	if err != nil || !found || len(parts) != 1 {
		t.Fatalf("Reference = %v, %v, %v", parts, found, err)
	}
	if text, ok := parts[0].(*sdk.TextPart); !ok || !strings.Contains(text.Text, "the note") {
		t.Errorf("the part is %+v", parts[0])
	}
	broken := start(t, newTestHost(t), fake(t, "exit"), mcp.Options{})
	if _, found, err := broken.Reference(t.Context(), "fake:note://a"); !found || err == nil || !strings.Contains(err.Error(), "cannot find my configuration") {
		t.Errorf("Reference = %v, %v", found, err)
	}
}

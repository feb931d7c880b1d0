package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
)

// The system prompt names a resource that changed after it was read, until it is read again.
func TestResourceUpdated(t *testing.T) {
	t.Parallel()
	p := ready(t, newTestHost(t), fake(t, "plain"))
	updated(t, p, "fake", func() { mustRun(t, p, "fake_touch", `{"text":"note://a"}`) })
}

// The same over HTTP with a server of the stateless revision, where a request stays open for the news about a resource.
func TestResourceUpdatedOverHTTP(t *testing.T) {
	t.Parallel()
	s := realServer(server.WithResourceCapabilities(true, false))
	s.AddResource(mcpgo.NewResource("note://a", "a"), func(context.Context, mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
		return []mcpgo.ResourceContents{mcpgo.TextResourceContents{URI: "note://a", Text: "the note"}}, nil
	})
	modern := server.NewStreamableHTTPServer(s)
	touched := make(chan struct{})
	web := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Mcp-Method") != "subscriptions/listen" || !strings.Contains(string(body), `"resourceSubscriptions":["note://a"]`) {
			r.Body = io.NopCloser(bytes.NewReader(body))
			modern.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			_ = http.NewResponseController(w).Flush() // fails when the client is gone, which ends the request
			select {
			case <-touched:
				_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"note://a"}}`+"\n\n")
			case <-r.Context().Done():
				return
			}
		}
	}))
	p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, web.URL+"/mcp"))
	if got := p.Current().Protocol; got != mcpgo.LATEST_PROTOCOL_VERSION {
		t.Fatalf("protocol %s, want the stateless one", got)
	}
	updated(t, p, "far", func() { touched <- struct{}{} })
}

// updated reads a resource, has it changed, and reads it again.
func updated(t *testing.T, p *mcp.Plugin, name string, touch func()) {
	t.Helper()
	args, err := json.Marshal(map[string]string{"uri": "note://a"})
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, p, name+"_read_resource", string(args))
	if strings.Contains(system(t, p), "note://a") {
		t.Error("a resource that did not change is named")
	}
	touch()
	eventually(t, "named", func() bool { return strings.Contains(system(t, p), "changed after they were read: note://a") })
	mustRun(t, p, name+"_read_resource", string(args))
	if strings.Contains(system(t, p), "note://a") {
		t.Error("a resource that was read again is named")
	}
}

// system returns what the server adds to the system prompt.
func system(t *testing.T, p *mcp.Plugin) string {
	t.Helper()
	v := sdk.ChatSystemValue{}
	for _, h := range p.Hooks() {
		if h.Name == "instructions" {
			if _, err := h.Handler.Handle(t.Context(), &sdk.HookCall{Input: &sdk.ChatInput{Purpose: sdk.PurposeTurn}, Value: &v}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return strings.Join(v.System, "\n")
}

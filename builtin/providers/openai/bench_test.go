package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/sdk"
)

// BenchmarkStreamText20000 reads 20,000 text deltas from a server in the same process; BenchmarkServe20000
// of fakellm shows the server's part.
func BenchmarkStreamText20000(b *testing.B) {
	for _, protocol := range []string{openai.ProtocolChat, openai.ProtocolResponses} {
		b.Run(protocol, func(b *testing.B) {
			srv := fakellm.Start()
			defer srv.Close()
			reply := fakellm.Repeat("word ", 20_000)
			if protocol == openai.ProtocolResponses {
				reply = fakellm.Raw(strings.Repeat(textDelta(0, "word "), 20_000) + completed)
			}
			srv.Always(reply)
			client := open(b, protocol, sdk.ProviderInfo{BaseURL: srv.URL()})
			b.ReportAllocs()
			before := cpu()
			for b.Loop() {
				n := 0
				err := client.Stream(context.Background(), hello(), func(sdk.StreamEvent) error { n++; return nil })
				if err != nil || n != 20_001 {
					b.Fatalf("%d events, error %v", n, err)
				}
			}
			b.ReportMetric(float64(cpu()-before)/float64(b.N)/20_000, "cpu-ns/delta")
		})
	}
}

func BenchmarkRequestBody(b *testing.B) {
	for _, n := range []int{50, 400} {
		for _, protocol := range []string{openai.ProtocolChat, openai.ProtocolResponses} {
			b.Run(fmt.Sprintf("%s/%d", protocol, n), func(b *testing.B) {
				req := conversation(n)
				b.ReportAllocs()
				size := 0
				for b.Loop() {
					body, err := openai.EncodeBody(protocol, req)
					if err != nil {
						b.Fatal(err)
					}
					size = len(body)
				}
				b.SetBytes(int64(size))
				b.ReportMetric(float64(size), "body-bytes")
			})
		}
	}
}

// conversation has n messages: calls and results of 2 KB in turns, and sixteen tools.
func conversation(n int) *sdk.ModelRequest {
	req := hello()
	req.System = []string{strings.Repeat("You are a coding agent. ", 200)}
	req.Tools = nil
	for i := range 16 {
		schema := fmt.Sprintf(`{"type":"object","properties":{"p%d":{"type":"string","description":%q}}}`, i, strings.Repeat("what it is ", 40))
		req.Tools = append(req.Tools, sdk.ToolDefinition{ID: fmt.Sprintf("tool%d", i), Description: strings.Repeat("It does. ", 50), Parameters: json.RawMessage(schema)})
	}
	for i := 1; i < n; i++ {
		id := fmt.Sprintf("call_%d", i/2)
		content := sdk.ModelContent{Type: sdk.ContentToolCall, CallID: id, Tool: "tool1", Args: json.RawMessage(`{"filePath":"host/turn.go","offset":10}`)}
		role := sdk.RoleAssistant
		if i%2 == 0 {
			role = sdk.RoleTool
			content = sdk.ModelContent{Type: sdk.ContentToolResult, CallID: id, Tool: "tool1", Text: strings.Repeat("\tif err != nil { return \"x\" }\n", 70)}
		}
		req.Messages = append(req.Messages, sdk.ModelMessage{Role: role, Content: []sdk.ModelContent{content}})
	}
	return req
}

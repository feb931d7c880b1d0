package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/sdk"
)

// FuzzChat feeds any bytes to the decoder: the answer keeps to the contract, or is an error.
func FuzzChat(f *testing.F) {
	f.Add([]byte(delta(`"content":"x"`) + delta(`"content":"y"`) + finish("stop") + chatDone))
	f.Add([]byte(delta(`"reasoning_details":[{"type":"a","text":"x"}],"reasoning":"x"`) + finish("length")))
	f.Add([]byte(delta(`"content":[{"type":"thinking","thinking":"x"}],"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"{}"}}]`) + finish("tool_calls")))
	f.Add([]byte(`{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`))
	f.Add([]byte("data: {\"error\":{\"message\":\"m\",\"code\":429}}\n\n"))
	f.Add([]byte(rawAnswer(openai.ProtocolChat)))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := openai.Decode(openai.ProtocolChat, data)
		wiretest.CheckRules(t, events, err)
	})
}

// FuzzResponses is FuzzChat for the other protocol.
func FuzzResponses(f *testing.F) {
	f.Add([]byte(item("done", 0, `"type":"reasoning","id":"r","summary":[{"text":"a"}],"encrypted_content":"x"`) + completed))
	f.Add([]byte(event("response.output_text.delta", `"output_index":0,"delta":"x"`) + event("response.failed", `"response":{"error":{"code":"server_error","message":"m"}}`)))
	f.Add([]byte(`{"status":"completed","output":[{"type":"message","content":[{"text":"x"}]}]}`))
	f.Add([]byte(rawAnswer(openai.ProtocolResponses)))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := openai.Decode(openai.ProtocolResponses, data)
		wiretest.CheckRules(t, events, err)
	})
}

// FuzzTools adapts any schema of a tool to the servers of this format: it stays JSON.
func FuzzTools(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"const":1},"b":true,"c":{"items":[{"$ref":"#/x"}]},"d":{"$ref":"#/x","title":"t"}},"additionalProperties":false,"if":{}}`))
	f.Add([]byte(`{"properties":{"a":{"type":"array"},"b":{"oneOf":[{"properties":{}},7]}},"type":["object"]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		if !json.Valid(schema) {
			return
		}
		for _, npm := range []string{"@ai-sdk/openai", "@ai-sdk/xai", "@ai-sdk/openai-compatible"} {
			for _, model := range []string{"kimi-k2", "gpt-5", "claude-opus-4"} {
				info, req := wiretest.Info(), wiretest.Hello()
				info.NPM, req.Model.ID = npm, model
				req.Tools = []sdk.ToolDefinition{{ID: "t", Parameters: schema}}
				body, err := openai.EncodeBodyFor(info, openai.ProtocolChat, req)
				if err != nil || !json.Valid(body) {
					t.Errorf("%s, %s: %q became %q, %v", npm, model, schema, body, err)
				}
			}
		}
	})
}

func textOf(events []sdk.StreamEvent) string {
	var b strings.Builder
	for _, ev := range events {
		b.WriteString(ev.Text)
	}
	return b.String()
}

// FuzzModelList feeds any list of models to the decoder, which reads the fields of all servers.
func FuzzModelList(f *testing.F) {
	f.Add(`{"data":[{"id":"a","context_length":1e300,"capabilities":{"limits":{"max_output_tokens":-1,"vision":{"supported_media_types":["image/png"]}},"supports":{"reasoning_effort":["low"]}},"supported_endpoints":["/responses"]}]}`)
	f.Add(`[{"id":"a","meta":{"n_ctx":1}}]`)
	f.Fuzz(func(t *testing.T, body string) {
		out, err := openai.ListFrom(t, body)
		if err == nil && strings.Contains(out, ":-") {
			t.Errorf("models %q, want no negative limit", out)
		}
	})
}

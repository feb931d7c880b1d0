package recorded_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	"github.com/tenonhq/tenon/sdk"
)

// deltas is the number of text deltas in an answer of BenchmarkDeltas.
const deltas = 20_000

// answers returns an answer of many deltas in each wire format, with events as the servers write them.
func answers() map[string]string {
	repeat := func(event func(i int) string) string {
		var b strings.Builder
		for i := range deltas {
			b.WriteString(event(i))
		}
		return b.String()
	}
	sse := func(data string) string { return "data: " + data + "\n\n" }
	named := func(kind, data string) string { return "event: " + kind + "\n" + sse(data) }
	frame := func(line string) string { return string(frames(nil, []byte(line))) }
	return map[string]string{
		"chat": repeat(func(int) string {
			return sse(`{"id":"chatcmpl-CzKRCbVhGmZ1pHcVPCVbmV3xX9","object":"chat.completion.chunk","created":1768764000,"model":"gpt-4.1-mini","service_tier":"default","system_fingerprint":"fp_376a7ccef1","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"obfuscation":"0hV7"}`)
		}) + sse(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`) + sse("[DONE]"),
		"responses": repeat(func(i int) string {
			return named("response.output_text.delta", fmt.Sprintf(`{"type":"response.output_text.delta","sequence_number":%d,"item_id":"msg_0123456789abcdef0123456789abcdef","output_index":0,"content_index":0,"delta":" word","logprobs":[],"obfuscation":"hnIhY%d"}`, i, i))
		}) + named("response.completed", `{"type":"response.completed","response":{"status":"completed"}}`),
		"anthropic": named("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`) + repeat(func(int) string {
			return named("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}`)
		}) + named("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`) + named("message_stop", `{"type":"message_stop"}`),
		"gemini": repeat(func(i int) string {
			return sse(fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":" word"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":%d,"totalTokenCount":%d},"modelVersion":"gemini-3-flash","responseId":"abcdefghijklmnop"}`, i, i+12))
		}) + sse(`{"candidates":[{"finishReason":"STOP"}]}`),
		"bedrock": repeat(func(int) string {
			return frame(`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":" word"},"p":"abcdefghijklmnop"}}`)
		}) + frame(`{"messageStop":{"stopReason":"end_turn"}}`),
	}
}

// BenchmarkDeltas reads 20,000 text deltas without a network. The goal is 3 µs for each.
func BenchmarkDeltas(b *testing.B) {
	for protocol, answer := range answers() {
		b.Run(protocol, func(b *testing.B) {
			info := wiretest.Info()
			info.Key = "key"
			b.ReportAllocs()
			before := cpu()
			for b.Loop() {
				events, err := wiretest.Decode(context.Background(), formats()[protocol], info, wiretest.Hello(), []byte(answer))
				if err != nil || len(events) != deltas+1 || events[0].Type != sdk.StreamText {
					b.Fatalf("%d events, error %v", len(events), err)
				}
			}
			b.ReportMetric(float64(cpu()-before)/float64(b.N)/deltas, "cpu-ns/delta")
		})
	}
}

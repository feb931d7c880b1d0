package openai_test

import (
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/sdk"
)

// FuzzChat feeds any bytes to the decoder: the answer keeps to the contract, or is an error.
func FuzzChat(f *testing.F) {
	f.Add([]byte(delta(`"content":"x"`) + delta(`"content":"y"`) + finish("stop") + chatDone))
	f.Add([]byte(delta(`"reasoning_details":[{"type":"a","text":"x"}],"reasoning":"x"`) + finish("length")))
	f.Add([]byte(delta(`"content":[{"type":"thinking","thinking":"x"}],"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"{}"}}]`) + finish("tool_calls")))
	f.Add([]byte(`{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`))
	f.Add([]byte("data: {\"error\":{\"message\":\"m\",\"code\":429}}\n\n"))
	f.Add([]byte(rawAnswer(f, openai.ProtocolChat, fakellm.Text("a", "b").Think("c").Call("read", "{}"))))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := openai.Decode(openai.ProtocolChat, data)
		checkRules(t, events, err)
	})
}

// FuzzResponses is FuzzChat for the other protocol.
func FuzzResponses(f *testing.F) {
	f.Add([]byte(item("done", 0, `"type":"reasoning","id":"r","summary":[{"text":"a"}],"encrypted_content":"x"`) + completed))
	f.Add([]byte(event("response.output_text.delta", `"output_index":0,"delta":"x"`) + event("response.failed", `"response":{"error":{"code":"server_error","message":"m"}}`)))
	f.Add([]byte(`{"status":"completed","output":[{"type":"message","content":[{"text":"x"}]}]}`))
	f.Add([]byte(rawAnswer(f, openai.ProtocolResponses, fakellm.Text("a").Call("read", "{}").Call("grep", "{}"))))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := openai.Decode(openai.ProtocolResponses, data)
		checkRules(t, events, err)
	})
}

// FuzzThinking: however the text is cut, the same comes out, and no character is lost but the tags and
// the space around them.
func FuzzThinking(f *testing.F) {
	f.Add("<think>\nhm</think>\n\nhello", 3)
	f.Add(" <think>a</thi</think>", 1)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < 1 {
			return
		}
		wantReasoning, wantText := openai.SplitThinking(text)
		reasoning, rest := openai.SplitThinking(pieces(text, size)...)
		if reasoning != wantReasoning || rest != wantText {
			t.Errorf("in pieces of %d: %q, %q; whole: %q, %q", size, reasoning, rest, wantReasoning, wantText)
		}
		if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "<think>") && rest != text {
			t.Errorf("text without reasoning %q became %q", text, rest)
		}
	})
}

// FuzzReadError: any body gives a message that can be shown.
func FuzzReadError(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"m"}}`, `[{"error":"x"}]`, `{"detail":[{"msg":1}]}`, "plain", "<html>", `{"error":{"metadata":{"raw":"{}"}}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		_, message, status := openai.ReadError(body)
		if len(message) > 4<<10 || (status != 0 && (status < 400 || status > 599)) {
			t.Errorf("message of %d bytes, status %d", len(message), status)
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

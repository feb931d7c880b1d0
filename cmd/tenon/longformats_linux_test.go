package main_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenonhq/tenon/internal/npm"
)

// longCall is how a wire format streams a call of write, and a short answer.
type longCall struct {
	begin, end string
	args       func(piece string) string // with the piece as JSON string
	answer     string
}

func sse(events ...string) string { return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n" }

// longCalls are the formats with arguments in pieces but openai-chat, which fakellm speaks.
func longCalls() map[string]longCall {
	return map[string]longCall{
		"openai-responses": {
			begin: sse(`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"i","call_id":"c","name":"write"}}`),
			args: func(piece string) string {
				return sse(`{"type":"response.function_call_arguments.delta","output_index":0,"delta":` + piece + `}`)
			},
			end:    sse(`{"type":"response.completed","response":{"status":"completed"}}`),
			answer: sse(`{"type":"response.output_text.delta","output_index":0,"delta":"hi"}`, `{"type":"response.completed","response":{"status":"completed"}}`),
		},
		"anthropic-messages": {
			begin: sse(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"write","input":{}}}`),
			args: func(piece string) string {
				return sse(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":` + piece + `}}`)
			},
			end:    sse(`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`),
			answer: sse(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`),
		},
		"bedrock-converse": {
			begin: frame("contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"c","name":"write"}}}`),
			args: func(piece string) string {
				return frame("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"toolUse":{"input":`+piece+`}}}`)
			},
			end:    frame("messageStop", `{"stopReason":"tool_use"}`) + frame("metadata", `{}`),
			answer: frame("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"hi"}}`) + frame("messageStop", `{"stopReason":"end_turn"}`) + frame("metadata", `{}`),
		},
	}
}

// frame returns an event in the encoding application/vnd.amazon.eventstream, see
// https://smithy.io/2.0/aws/amazon-eventstream.html.
func frame(kind, payload string) string {
	var headers []byte
	for _, h := range [][2]string{{":message-type", "event"}, {":event-type", kind}} {
		headers = append(append(headers, byte(len(h[0]))), h[0]...)
		headers = append(binary.BigEndian.AppendUint16(append(headers, 7), uint16(len(h[1]))), h[1]...)
	}
	const around = 16 // two lengths and two checksums, of 4 bytes each
	out := binary.BigEndian.AppendUint32(nil, uint32(around+len(headers)+len(payload)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(headers)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	out = append(append(out, headers...), payload...)
	return string(binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out)))
}

// TestLongArgumentsInEveryFormat is TestLongArgumentsTakeLittleMemory for the formats that fakellm does not speak.
func TestLongArgumentsInEveryFormat(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, of which the race detector takes several times as much; runs without -short")
	}
	for _, format := range npm.Formats() {
		c, ok := longCalls()[format]
		if !ok {
			continue
		}
		usual := c.peak(t, format, 1)
		more := c.peak(t, format, longArguments) - usual
		t.Logf("%s: %d MiB more than usual", format, more>>10)
		if limit := argumentsLimit(); more > limit {
			t.Errorf("%s: %d MiB more than usual, want at most %d", format, more>>10, limit>>10)
		}
	}
}

// peak runs a prompt that the model answers with a call of write with a content of about so many bytes, and returns the most memory that the
// process had, in KiB.
func (c longCall) peak(t *testing.T, format string, size int) int64 {
	t.Helper()
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if asked.Add(1) > 1 {
			_, _ = io.WriteString(w, c.answer)
			return
		}
		begin, line, end := `"{\"filePath\":\"long.txt\",\"content\":\""`, `"The quick brown fox jumps over the lazy dog.\\n"`, `"\"}"`
		_, _ = io.WriteString(w, c.begin+c.args(begin))
		lines := `"` + strings.Repeat(line[1:len(line)-1], 80) + `"`
		pieces := max(1, size/(80*len(`The quick brown fox jumps over the lazy dog.\n`)))
		for range pieces {
			_, _ = io.WriteString(w, c.args(lines))
		}
		_, _ = io.WriteString(w, c.args(end))
		_, _ = io.WriteString(w, c.end)
	}))
	defer srv.Close()
	p := newProcess(t, srv.URL)
	config := slices.IndexFunc(p.env, func(kv string) bool { return strings.HasPrefix(kv, "TENON_CONFIG_CONTENT=") })
	p.env[config] = fmt.Sprintf(`TENON_CONFIG_CONTENT={"model":"test/m","provider":{"test":{"protocol":%q,"options":{"baseURL":%q,"apiKey":"k"},"models":{"m":{}}}}}`, format, srv.URL)
	peak := p.peak(t, 0, "text")
	if asked.Load() != 2 {
		t.Errorf("%s: asked %d times, want 2", format, asked.Load())
	}
	return peak
}

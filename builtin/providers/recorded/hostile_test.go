package recorded_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	"github.com/tenonhq/tenon/sdk"
)

// hostileFormats returns events of each wire format.
func hostileFormats() map[string]*hostile {
	event := func(data string) string { return "data: " + data + "\n\n" }
	chat := func(delta, reason string) string {
		return event(`{"id":"1","choices":[{"index":0,"delta":{` + delta + `},"finish_reason":` + reason + `}]}`)
	}
	gemini := func(part string) string {
		return event(`{"candidates":[{"content":{"role":"model","parts":[` + part + `]},"index":0}]}`)
	}
	bedrock := func(text string) string {
		return bedrockFrame("event", "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"`+text+`"},"p":"abc"}`)
	}
	return map[string]*hostile{
		"chat": {
			text: func(text string) string { return chat(`"content":"`+text+`"`, "null") },
			call: func(i int) string {
				return chat(fmt.Sprintf(`"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"read","arguments":"{}"}}]`, i, i), "null")
			},
			sealed: func(piece string) string {
				return chat(`"reasoning_details":[{"type":"reasoning.encrypted","index":0,"data":"`+piece+`"}]`, "null")
			},
			end: chat("", `"stop"`) + "data: [DONE]\n\n", failed: event(`{"error":{"code":503,"message":"Overloaded"}}`), idle: ": ping\n\n",
		},
		"responses": {
			text: func(text string) string {
				return event(`{"type":"response.output_text.delta","output_index":0,"delta":"` + text + `"}`)
			},
			call: func(i int) string {
				return event(fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":{"type":"function_call","call_id":"c%d","name":"read","arguments":"{}"}}`, i+1, i))
			},
			end:    event(`{"type":"response.completed","response":{"status":"completed"}}`),
			failed: event(`{"type":"error","code":"server_error","message":"Overloaded"}`), half: "data: ", idle: "x",
		},
		"anthropic": {
			start: event(`{"type":"message_start","message":{"usage":{"input_tokens":3}}}`) + event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
			text: func(text string) string {
				return event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`)
			},
			call: func(i int) string {
				return event(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"c%d","name":"read","input":{}}}`, i+1, i))
			},
			sealed: func(piece string) string {
				return event(`{"type":"content_block_start","index":9,"content_block":{"type":"thinking","signature":"`+piece+`"}}`) +
					event(`{"type":"content_block_delta","index":9,"delta":{"type":"signature_delta","signature":"`+piece+`"}}`)
			},
			end:    event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`) + event(`{"type":"message_stop"}`),
			failed: event(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), idle: "event: ping\n",
		},
		"gemini": {
			text:   func(text string) string { return gemini(`{"text":"` + text + `"}`) },
			call:   func(i int) string { return gemini(fmt.Sprintf(`{"functionCall":{"name":"read","args":{"i":%d}}}`, i)) },
			end:    event(`{"candidates":[{"finishReason":"STOP","index":0}]}`),
			failed: event(`{"error":{"code":503,"status":"UNAVAILABLE","message":"The model is overloaded."}}`), idle: ": ping\r\n",
		},
		"bedrock": {
			start: bedrockFrame("event", "messageStart", `{"role":"assistant"}`), text: bedrock,
			call: func(i int) string {
				return bedrockFrame("event", "contentBlockStart", fmt.Sprintf(`{"contentBlockIndex":%d,"start":{"toolUse":{"toolUseId":"c%d","name":"read"}}}`, i+1, i))
			},
			sealed: func(piece string) string {
				return bedrockFrame("event", "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"`+piece+`"}}}`)
			},
			end:    bedrockFrame("event", "messageStop", `{"stopReason":"end_turn"}`) + bedrockFrame("event", "metadata", `{"usage":{"inputTokens":5,"outputTokens":3}}`),
			failed: bedrockFrame("exception", "serviceUnavailableException", `{"message":"Overloaded, try again"}`),
			half:   bedrock(strings.Repeat("x", 1<<20))[:200], idle: "x",
		},
	}
}

// bedrockFrame returns an event, or an exception, as Bedrock sends it.
func bedrockFrame(message, kind, payload string) string {
	m := eventstream.Message{Payload: []byte(payload)}
	m.Headers.Set(":message-type", eventstream.StringValue(message))
	m.Headers.Set(":"+message+"-type", eventstream.StringValue(kind))
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
		panic(err)
	}
	return out.String()
}

// hostile has events of a wire format.
type hostile struct {
	open  wiretest.Open
	start string // events before the first text
	text  func(text string) string
	call  func(index int) string // a whole call
	// sealed is a delta that is kept until its block ends, such as a signature's, after start. Nil if the format has none.
	sealed func(text string) string
	end    string // events after the last text
	failed string // an event that reports an overloaded server
	half   string // the beginning of an event, before idle
	idle   string // bytes that complete no event
}

// TestHostileStreams: answers of broken and malicious servers end with an error in bounded time and memory.
func TestHostileStreams(t *testing.T) {
	t.Parallel()
	for name, f := range hostileFormats() {
		f.open = formats()[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("beyond bounds", func(t *testing.T) { t.Parallel(); f.bounds(t) })
			t.Run("drip", func(t *testing.T) { t.Parallel(); f.drip(t) })
			t.Run("broken", func(t *testing.T) { t.Parallel(); f.broken(t) })
			t.Run("cut", func(t *testing.T) { t.Parallel(); f.cut(t) })
		})
	}
}

// Gateways end the answers of every format like those of Chat Completions.
func TestDone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{
		"chat": `{"choices":[{"finish_reason":"stop"}]}`, "gemini": `{"candidates":[{"finishReason":"STOP"}]}`,
		"anthropic": `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
	} {
		f := hostileFormats()[name]
		f.open = formats()[name]
		if events, err := f.decode(t, f.start+f.text("hi")+"data: "+end+"\n\ndata: [DONE]\n\n"); err != nil || events[0].Text != "hi" {
			t.Errorf("%s: %v, %v", name, events, err)
		}
	}
}

func (f *hostile) decode(t *testing.T, answer string) ([]sdk.StreamEvent, error) {
	t.Helper()
	info := wiretest.Info()
	info.Key = "key-for-test"
	events, err := wiretest.Decode(t.Context(), f.open, info, wiretest.Hello(), []byte(answer))
	wiretest.CheckRules(t, events, err)
	return events, err
}

// bounds has answers that are too large to be an answer.
func (f *hostile) bounds(t *testing.T) {
	mega := strings.Repeat("x", 1<<20)
	var calls strings.Builder
	for i := range 600 {
		calls.WriteString(f.call(i))
	}
	if f.sealed != nil { // in small pieces, each within the bounds
		pieces := strings.Repeat(f.sealed(strings.Repeat("x", 4<<10)), (20<<20)/(4<<10))
		if _, err := f.decode(t, f.start+pieces+f.end); !errors.Is(err, sdk.ErrAnswerLimit) {
			t.Errorf("an endless signature: error %.200v, want %v", err, sdk.ErrAnswerLimit)
		}
	}
	for name, answer := range map[string]string{
		"a long event":      f.start + f.text(strings.Repeat(mega, 5)),
		"a long document":   `{"x":"` + strings.Repeat(mega, 5) + `"}`,
		"many values":       `{"x":[0` + strings.Repeat(",0", 1<<17) + `]}`,
		"hundreds of calls": f.start + calls.String() + f.end,
	} {
		if _, err := f.decode(t, answer); !errors.Is(err, sdk.ErrAnswerLimit) {
			t.Errorf("%s: error %.200v, want %v", name, err, sdk.ErrAnswerLimit)
		}
	}
}

// TestManyEvents has answers of events that say nothing.
func TestManyEvents(t *testing.T) {
	t.Parallel()
	f := hostileFormats()["chat"]
	f.open = formats()["chat"]
	for name, answer := range map[string]string{
		"empty": strings.Repeat("data:\n\n", 1<<20),
		"small": strings.Repeat("data: {}\n\n", 1<<21+1),
	} {
		if _, err := f.decode(t, f.text("a")+answer+f.end); !errors.Is(err, sdk.ErrAnswerLimit) {
			t.Errorf("%s: error %.200v, want %v", name, err, sdk.ErrAnswerLimit)
		}
	}
}

// drip tests servers that never end an event and never stop sending.
func (f *hostile) drip(t *testing.T) {
	for name, c := range map[string]struct{ first, then string }{
		"from the start": {f.half, f.idle},
		"after a text":   {f.start + f.text("a") + f.half, f.idle},
		"a document":     {"{", " "},
		"white space":    {" ", " "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { dripping(w, r, c.first, c.then) }))
			defer srv.Close()
			transport := wire.NewTransport()
			defer transport.CloseIdleConnections()
			info := sdk.ProviderInfo{ID: "test", Key: "key-for-test", BaseURL: srv.URL, Options: sdk.Object{"chunkTimeout": 500.0}}
			client, err := f.open(info, transport, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			err = client.Stream(t.Context(), wiretest.Hello(), func(sdk.StreamEvent) error { return nil })
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("error %v, want one about events", err)
			}
		})
	}
}

// dripping sends first, and then the same bytes every 5 ms until the client leaves.
func dripping(w http.ResponseWriter, r *http.Request, first, then string) {
	_, _ = io.WriteString(w, first)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			_, _ = io.WriteString(w, then)
		}
	}
}

// cut has an answer that ends at each of its bytes. It is an error, or nothing is missing.
func (f *hostile) cut(t *testing.T) {
	whole := f.start + f.text("hello") + f.call(0) + f.call(1)
	if f.sealed != nil {
		whole += f.sealed("signed")
	}
	whole += f.end
	all, err := f.decode(t, whole)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		if events, err := f.decode(t, whole[:i]); err == nil && len(events) != len(all) {
			t.Errorf("cut after %q: %d events of %d", whole[max(0, i-100):i], len(events), len(all))
		}
	}
}

// broken tests incomplete answers.
func (f *hostile) broken(t *testing.T) {
	whole := f.start + f.text("hello") + f.end
	if events, err := f.decode(t, whole); err != nil || len(events) < 2 {
		t.Fatalf("the whole answer: %d events, error %v", len(events), err)
	}
	for name, answer := range map[string]string{
		"nothing":          "",
		"no end":           f.start + f.text("hello"),
		"half an event":    f.start + f.text("hello")[:len(f.text("hello"))/2],
		"a page":           "<html><body>login</body></html>",
		"an error":         f.start + f.text("hello") + f.failed,
		"an error object":  `{"error":{"message":"no","type":"bad"}}`,
		"garbage":          "\x00\x01\x02garbage\n\n\xff",
		"another document": `{"hello":"world"}`,
	} {
		if _, err := f.decode(t, answer); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	var failed *sdk.ProviderError
	if _, err := f.decode(t, f.start+f.failed); !errors.As(err, &failed) || !strings.Contains(strings.ToLower(failed.Message+failed.Code), "overloaded") {
		t.Errorf("error event: %v, want the server's words", err)
	}
}

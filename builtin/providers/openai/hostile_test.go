package openai_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/sdk"
)

// TestAnswersBeyondAllBounds: such answers are refused, and not requested again.
func TestAnswersBeyondAllBounds(t *testing.T) {
	t.Parallel()
	var nameless, details, items strings.Builder
	for i := range 5000 {
		nameless.WriteString(call(`"index":` + strconv.Itoa(i) + `,"function":{"arguments":"x"}`))
		details.WriteString(delta(`"reasoning_details":[{"type":"t","index":` + strconv.Itoa(i) + `}]`))
		items.WriteString(event("response.output_item.added", `"output_index":`+strconv.Itoa(i)))
	}
	mega := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct{ protocol, stream string }{
		"many lines":           {openai.ProtocolChat, strings.Repeat("data: "+mega+"\n", 5)},
		"calls without a name": {openai.ProtocolChat, nameless.String()},
		"reasoning details":    {openai.ProtocolChat, details.String()},
		"small values":         {openai.ProtocolChat, strings.Repeat(delta(`"reasoning_details":[{"type":"t","index":0,"a":[{}`+strings.Repeat(",{}", 1<<14)+`]}]`), 10)},
		"small extras":         {openai.ProtocolChat, smallExtras()},
		"output items":         {openai.ProtocolResponses, items.String()},
		"empty calls":          {openai.ProtocolChat, delta(`"tool_calls":[{}` + strings.Repeat(",{}", 1<<17) + `]`)},
		"empty details":        {openai.ProtocolChat, delta(`"reasoning_details":[{}` + strings.Repeat(",{}", 1<<17) + `]`)},
		"empty items":          {openai.ProtocolResponses, event("response.completed", `"response":{"status":"completed","output":[{}`+strings.Repeat(",{}", 1<<17)+`]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakellm.New(t, fakellm.Raw(c.stream))
			_, err := ask(t, open(t, c.protocol, sdk.ProviderInfo{BaseURL: srv.URL()}), nil)
			if !errors.Is(err, sdk.ErrAnswerLimit) {
				t.Errorf("error %v, want %v", err, sdk.ErrAnswerLimit)
			}
		})
	}
}

// TestRepeatedTexts: servers repeat arguments and texts at their end. One event of this may be as long as any other.
func TestRepeatedTexts(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]error{3 << 20: nil, 5 << 20: sdk.ErrAnswerLimit} {
		long := strings.Repeat("x", size)
		pieces := strings.Repeat(event("response.output_text.delta", `"output_index":0,"delta":"`+long[:1<<20]+`"`), size>>20)
		end := event("response.completed", `"response":{"output":[{"text":"`+long+`"}],"status":"completed"}`)
		events, err := openai.Decode(openai.ProtocolResponses, []byte(pieces+end))
		if !errors.Is(err, want) || err == nil && len(textOf(events)) != size {
			t.Errorf("%d bytes: %d events, %.200v, want %v", size, len(events), err, want)
		}
	}
}

// smallExtras are 10 calls whose extra_content has 16,384 small values each.
func smallExtras() string {
	var out strings.Builder
	for i := range 10 {
		out.WriteString(call(fmt.Sprintf(`"index":%d,"id":"c%d","function":{"name":"read"},"extra_content":{"a":[{}%s]}`, i, i, strings.Repeat(",{}", 1<<14))))
	}
	return out.String()
}

// TestArgumentsBeforeTheirName: such arguments are kept up to a limit.
func TestArgumentsBeforeTheirName(t *testing.T) {
	t.Parallel()
	piece := call(`"index":0,"function":{"arguments":"` + strings.Repeat("x", 1000) + `"}`)
	named := call(`"index":0,"id":"a","function":{"name":"read"}`)
	events, err := openai.Decode(openai.ProtocolChat, []byte(strings.Repeat(piece, 1000)+named+finish("tool_calls")))
	if err != nil || len(events) != 2 || len(events[0].Text) != 1_000_000 {
		t.Errorf("%d events, error %v, want a call of 1,000,000 bytes and the end", len(events), err)
	}
	if _, err := openai.Decode(openai.ProtocolChat, []byte(strings.Repeat(piece, 1100)+named)); err == nil || !strings.Contains(err.Error(), "before the name") {
		t.Errorf("error %v, want one about the name", err)
	}
}

// TestWhiteSpaceBeforeText is held back only as long as <think> may follow.
func TestWhiteSpaceBeforeText(t *testing.T) {
	t.Parallel()
	events, err := openai.Decode(openai.ProtocolChat, []byte(strings.Repeat(delta(`"content":" "`), 1000)+finish("stop")))
	if err != nil || len(textOf(events)) != 1000 || len(events) < 500 {
		t.Errorf("%d events with %d bytes, error %v, want the white space as it came", len(events), len(textOf(events)), err)
	}
}

// TestHalvesOfCharacters are joined across events, in texts and in arguments of calls.
func TestHalvesOfCharacters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stream, want string }{
		"one":          {delta(`"content":"a\ud83d"`) + delta(`"content":"\uDE00b"`), "a😀b"},
		"several":      {delta(`"content":"\uD83D"`) + delta(`"content":"\ude00\ud83d"`) + delta(`"content":"\ude01"`), "😀😁"},
		"with a pause": {delta(`"content":"\ud83d"`) + delta(`"content":""`) + delta(`"content":"\ude00"`), "😀"},
		"arguments": {
			call(`"index":0,"id":"c","function":{"name":"read","arguments":"[\"\ud83d"}`) + call(`"index":0,"function":{"arguments":"\ude00\"]"}`), `["😀"]`,
		},
		"whole":        {delta(`"content":"\ud83d\ude00"`) + delta(`"content":"\ud83d\ude00"`), "😀😀"},
		"in code":      {delta(`"content":"\\ud83d"`) + delta(`"content":"\"\\ude00"`), `\ud83d"\ude00`},
		"inside":       {delta(`"content":"\ud83d."`) + delta(`"content":".\ude00"`), "\ufffd..\ufffd"},
		"a second one": {delta(`"content":"\ude00"`), "\ufffd"},
	} {
		events, err := openai.Decode(openai.ProtocolChat, []byte(c.stream+finish("stop")))
		if err != nil || textOf(events) != c.want {
			t.Errorf("%s: %q, error %v, want %q", name, textOf(events), err, c.want)
		}
	}
}

// TestAnswersWithoutAnAnswer: such answers are errors, because a run must not succeed with nothing.
func TestAnswersWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"done alone":           chatDone,
		"usage and done":       `data: {"choices":[],"usage":{"prompt_tokens":1}}` + "\n\n" + chatDone,
		"network error":        delta(`"content":"x"`) + finish("network_error") + chatDone,
		"network-error":        delta(`"content":"x"`) + finish("network-error") + chatDone,
		"no resources":         delta(`"content":"x"`) + finish("insufficient_system_resource") + chatDone,
		"aborted":              delta(`"content":"x"`) + finish("abort") + chatDone,
		"unclosed think":       delta(`"content":"<think>hm"`) + finish("stop") + chatDone,
		"unclosed, half a tag": delta(`"content":"<think>hm</thi"`) + finish("stop"),
	} {
		_, err := openai.Decode(openai.ProtocolChat, []byte(stream))
		var provider *sdk.ProviderError
		if !errors.As(err, &provider) || !provider.Cut {
			t.Errorf("%s: error %v, want a broken answer", name, err)
		}
	}
}

// TestHeaderFlood ends before the headers are kept.
func TestHeaderFlood(t *testing.T) {
	t.Parallel()
	reply := fakellm.Error(500, "server_error", "no")
	for i := range 64 {
		reply = reply.Header("X-"+strconv.Itoa(i), strings.Repeat("h", 64<<10))
	}
	srv := fakellm.New(t, reply)
	_, err := ask(t, open(t, openai.ProtocolChat, sdk.ProviderInfo{BaseURL: srv.URL()}), nil)
	var provider *sdk.ProviderError
	if !errors.As(err, &provider) || len(provider.Headers) > 0 || !strings.Contains(err.Error(), "header") {
		t.Errorf("error %.300v, want one about the headers", err)
	}
}

// TestDecodingTakesBoundedMemory lets a server send 16 MiB in events of the largest size. The decoded data stays below four times of
// that at any time; the events themselves are thrown away.
func TestDecodingTakesBoundedMemory(t *testing.T) {
	text := strings.Repeat("x", maxText)
	srv := fakellm.New(t, fakellm.Text(slices.Repeat([]string{text}, 4)...))
	client := open(t, openai.ProtocolChat, sdk.ProviderInfo{BaseURL: srv.URL()})
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	err := client.Stream(t.Context(), hello(), func(e sdk.StreamEvent) error {
		n += len(e.Text)
		runtime.GC()
		runtime.ReadMemStats(&now)
		if held := int64(now.HeapAlloc) - int64(before.HeapAlloc); held > 64<<20 {
			t.Errorf("%d MiB are held after %d bytes", held>>20, n)
		}
		return nil
	})
	if err != nil || n != 4*maxText {
		t.Errorf("%d bytes, error %v, want %d", n, err, 4*maxText)
	}
}

// maxText is the longest text that one event can carry, nearly.
const maxText = 4<<20 - 4096

package openai_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/sdk"
)

// sketch writes an answer in short: blocks in the order they began, as kind:text, a tool call with its
// name, the finish last.
func sketch(events []sdk.StreamEvent) []string {
	var order []string
	blocks := map[string]string{}
	var out []string
	for _, ev := range events {
		if ev.Type == sdk.StreamFinish {
			out = append(out, "finish:"+ev.Reason)
			continue
		}
		if _, ok := blocks[ev.ID]; !ok {
			order = append(order, ev.ID)
			blocks[ev.ID] = ev.Type + ":"
			if ev.Tool != "" {
				blocks[ev.ID] = ev.Tool + ":"
			}
		}
		blocks[ev.ID] += ev.Text
	}
	for i := len(order) - 1; i >= 0; i-- {
		out = append([]string{blocks[order[i]]}, out...)
	}
	return out
}

func TestChatStreams(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reply fakellm.Reply
		want  []string
	}{
		"text":            {fakellm.Text("Hel", "lo \"you\"\n", "wörld \u2028"), []string{"text:Hello \"you\"\nwörld \u2028", "finish:stop"}},
		"nothing":         {fakellm.Text(""), []string{"finish:stop"}},
		"reasoning field": {fakellm.Text().Reasoning("reasoning_content", "hm", "mm").Text("yes"), []string{"reasoning:hmmm", "text:yes", "finish:stop"}},
		"reasoning":       {fakellm.Text().Reasoning("reasoning", "hm").Text("yes"), []string{"reasoning:hm", "text:yes", "finish:stop"}},
		"a call":          {fakellm.Call("read", `{"a":1}`), []string{`read:{"a":1}`, "finish:tool-calls"}},
		"call in pieces":  {fakellm.Calls(fakellm.ToolCall{Name: "read", Args: `{"a":"é"}`, Chunks: 9}), []string{`read:{"a":"é"}`, "finish:tool-calls"}},
		"text and calls": {fakellm.Text("I look.").Call("read", `{"a":1}`).Call("grep", `{"b":2}`),
			[]string{"text:I look.", `read:{"a":1}`, `grep:{"b":2}`, "finish:tool-calls"}},
		"malformed arguments": {fakellm.Call("read", `{"a":`), []string{`read:{"a":`, "finish:tool-calls"}},
		"no arguments":        {fakellm.Call("read", ""), []string{`read:`, "finish:tool-calls"}},
		"length":              {fakellm.Text("cut of").Finish("length"), []string{"text:cut of", "finish:length"}},
		"filtered":            {fakellm.Text("I").Finish("content_filter"), []string{"text:I", "finish:content-filter"}},
		"think":               {fakellm.Text("<think>", "hm", "</think>", "\n\nyes"), []string{"reasoning:hm", "text:yes", "finish:stop"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkAnswer(t, openai.ProtocolChat, c.reply.Usage(fakellm.Usage{Input: 100, Cached: 40, Output: 30, Reasoning: 12}), c.want)
		})
	}
}

// checkAnswer requests an answer, and compares it and its tokens.
func checkAnswer(t *testing.T, protocol string, reply fakellm.Reply, want []string) {
	t.Helper()
	srv := fakellm.New(t, reply)
	events, err := ask(t, open(t, protocol, sdk.ProviderInfo{BaseURL: srv.URL()}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, sketch(events)); diff != "" {
		t.Error(diff)
	}
	tokens := sdk.Tokens{Total: 130, Input: 60, Output: 18, Reasoning: 12, Cache: sdk.CacheCount{Read: 40}}
	if got := events[len(events)-1].Tokens; got != tokens {
		t.Errorf("tokens = %+v, want %+v", got, tokens)
	}
}

func TestResponsesStream(t *testing.T) {
	t.Parallel()
	checkAnswer(t, openai.ProtocolResponses, fakellm.Raw(responsesAnswer), sampled)
}

// TestPiecesOfOneByte: where the network cuts an answer does not matter.
func TestPiecesOfOneByte(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{openai.ProtocolChat, openai.ProtocolResponses} {
		reply := fakellm.Raw("").FlushEach()
		for _, b := range []byte(rawAnswer(protocol)) {
			reply = reply.Raw(string(b))
		}
		srv := fakellm.New(t, reply)
		events, err := ask(t, open(t, protocol, sdk.ProviderInfo{BaseURL: srv.URL()}), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sampled, sketch(events)); diff != "" {
			t.Errorf("%s: %s", protocol, diff)
		}
	}
}

// TestDocuments: some servers answer with a document, although a stream was requested.
func TestDocuments(t *testing.T) {
	t.Parallel()
	decodeAll(t, openai.ProtocolChat, map[string]dialect{
		"chat": {`{"choices":[{"index":0,"message":{"role":"assistant","reasoning":"hm","content":"yes","tool_calls":[{"id":"c","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			[]string{"reasoning:hm", "text:yes", "read:{}", "finish:tool-calls"}},
	})
}

func delta(fields string) string {
	return `data: {"id":"1","choices":[{"index":0,"delta":{` + fields + `},"finish_reason":null}]}` + "\n\n"
}

func call(fields string) string { return delta(`"tool_calls":[{` + fields + `}]`) }

func finish(reason string) string {
	return `data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}` + "\n\n"
}

const chatDone = "data: [DONE]\n\n"

// dialect is a stream of a server, and the answer in short.
type dialect struct {
	stream string
	want   []string
}

func decodeAll(t *testing.T, protocol string, cases map[string]dialect) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := openai.Decode(protocol, []byte(c.stream))
			wiretest.CheckRules(t, events, err)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, sketch(events)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestChatDialects has what servers send beyond, or beside, OpenAI's own form.
func TestChatDialects(t *testing.T) {
	t.Parallel()
	cases := map[string]dialect{
		"stop with calls":      {call(`"index":0,"id":"a","function":{"name":"read","arguments":"{}"}`) + finish("stop") + chatDone, []string{"read:{}", "finish:tool-calls"}},
		"tool_calls, but none": {delta(`"content":"x"`) + finish("tool_calls") + chatDone, []string{"text:x", "finish:stop"}},
		"done without finish":  {delta(`"content":"x"`) + chatDone, []string{"text:x", "finish:stop"}},
		"finish without done":  {delta(`"content":"x"`) + finish("stop"), []string{"text:x", "finish:stop"}},
		"no last blank line":   {delta(`"content":"x"`) + strings.TrimSuffix(finish("stop"), "\n\n"), []string{"text:x", "finish:stop"}},
		"unknown reason":       {delta(`"content":"x"`) + finish("moon") + chatDone, []string{"text:x", "finish:other"}},
		"filtered at Z.AI":     {delta(`"content":"x"`) + finish("sensitive") + chatDone, []string{"text:x", "finish:content-filter"}},
		"comments and fields":  {": OPENROUTER PROCESSING\n\n" + "event: x\nid: 1\n" + delta(`"content":"x"`) + "retry: 3\n\n: ping\n\n" + finish("stop") + chatDone, []string{"text:x", "finish:stop"}},
		"crlf":                 {strings.ReplaceAll(delta(`"content":"x"`)+finish("stop")+chatDone, "\n", "\r\n"), []string{"text:x", "finish:stop"}},
		"byte order mark":      {"\ufeff" + ": hi\n\n" + delta(`"content":"x"`) + finish("stop") + chatDone, []string{"text:x", "finish:stop"}},
		"nulls":                {delta(`"role":"assistant","content":null,"tool_calls":null,"reasoning_content":null,"reasoning":null,"refusal":null,"function_call":null`) + delta(`"content":"x"`) + finish("stop") + chatDone, []string{"text:x", "finish:stop"}},
		"refusal":              {delta(`"refusal":"no"`) + finish("stop") + chatDone, []string{"text:no", "finish:stop"}},
		"other choices":        {strings.Replace(delta(`"content":"y"`), `"index":0`, `"index":1`, 1) + delta(`"content":"x"`) + finish("stop") + chatDone, []string{"text:x", "finish:stop"}},
		"null as a call":       {delta(`"content":"x","tool_calls":[null]`) + finish("stop") + chatDone, []string{"text:x", "finish:stop"}},
		"no index":             {call(`"id":"a","function":{"name":"read","arguments":"{"}`) + call(`"function":{"arguments":"}"}`) + call(`"id":"b","function":{"name":"grep","arguments":"{}"}`) + finish("tool_calls"), []string{"read:{}", "grep:{}", "finish:tool-calls"}},
		"no index, no id":      {call(`"function":{"name":"read","arguments":"{}"}`) + call(`"function":{"name":"read","arguments":"{}"}`) + finish("tool_calls"), []string{"read:{}", "read:{}", "finish:tool-calls"}},
		"all calls at index 0": {call(`"index":0,"id":"a","function":{"name":"read","arguments":"{}"}`) + call(`"index":0,"id":"b","function":{"name":"grep","arguments":"{}"}`) + finish("tool_calls"), []string{"read:{}", "grep:{}", "finish:tool-calls"}},
		"index 0, no id":       {call(`"index":0,"id":"","function":{"name":"read","arguments":"{\"a\":1}"}`) + call(`"index":0,"function":{"name":"grep","arguments":"{}"},"id":""},{"index":0,"function":{"name":"grep","arguments":"{}"}`) + finish("stop"), []string{`read:{"a":1}`, "grep:{}", "grep:{}", "finish:tool-calls"}},
		"name repeated, no id": {call(`"index":0,"function":{"name":"read","arguments":"{"}`) + call(`"index":0,"function":{"name":"read","arguments":"}"}`) + finish("tool_calls"), []string{"read:{}", "finish:tool-calls"}},
		"name after the whole": {call(`"index":0,"id":"a","function":{"name":"read","arguments":"{}"}`) + call(`"index":0,"function":{"name":"read","arguments":""}`) + finish("tool_calls"), []string{"read:{}", "finish:tool-calls"}},
		"name repeated":        {call(`"index":0,"id":"a","function":{"name":"read","arguments":"{"}`) + call(`"index":0,"id":"a","function":{"name":"read","arguments":"}"}`) + finish("tool_calls"), []string{"read:{}", "finish:tool-calls"}},
		"arguments first":      {call(`"index":0,"function":{"arguments":"{"}`) + call(`"index":0,"id":"a","function":{"name":"read","arguments":"}"}`) + finish("tool_calls"), []string{"read:{}", "finish:tool-calls"}},
		"name never":           {call(`"index":0,"id":"a","function":{"arguments":"{}"}`) + finish("tool_calls"), []string{"unknown:{}", "finish:tool-calls"}},
		"arguments object":     {call(`"index":0,"id":"a","function":{"name":"read","arguments":{"a": 1}}`) + finish("tool_calls"), []string{`read:{"a": 1}`, "finish:tool-calls"}},
		"full message":         {`data: {"choices":[{"message":{"content":"x","tool_calls":[{"id":"a","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"stop"}]}` + "\n\n", []string{"text:x", "read:{}", "finish:tool-calls"}},
		"mistral thinking": {delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"},{"type":"text","text":"m"}]}]`) + delta(`"content":[{"type":"text","text":"yes"}]`) + delta(`"content":"!"`) + finish("stop"),
			[]string{"reasoning:hm", "text:yes!", "finish:stop"}},
		"thinking between calls": {delta(`"reasoning":"a"`) + call(`"index":0,"id":"a","function":{"name":"read","arguments":"{}"}`) + delta(`"reasoning":"b"`) + delta(`"content":"t"`) + finish("stop"),
			[]string{"reasoning:a", "read:{}", "reasoning:b", "text:t", "finish:tool-calls"}},
		"copilot":         {delta(`"reasoning_text":"h"`) + delta(`"reasoning_text":"m"`) + delta(`"reasoning_opaque":"sealed"`) + delta(`"content":"x"`) + finish("stop"), []string{"reasoning:hm", "text:x", "finish:stop"}},
		"reasoning twice": {delta(`"reasoning_content":"a","reasoning":"a"`) + finish("stop"), []string{"reasoning:a", "finish:stop"}},
		"unclosed think":  {delta(`"content":"<think>hm"`) + delta(`"content":" </thi"`) + finish("length"), []string{"reasoning:hm </thi", "finish:length"}},
		"late think":      {delta(`"content":"so <think>hm</think>"`) + finish("stop"), []string{"text:so <think>hm</think>", "finish:stop"}},
		"half a tag":      {delta(`"content":"<thi"`) + finish("stop"), []string{"text:<thi", "finish:stop"}},
		"bare document":   {`{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`, []string{"text:x", "finish:stop"}},
	}
	decodeAll(t, openai.ProtocolChat, cases)
}

func TestMissingCallIDsAreMadeUp(t *testing.T) {
	t.Parallel()
	srv := fakellm.New(t, fakellm.Raw(call(`"index":0,"function":{"name":"a","arguments":"{}"}`)+call(`"index":1,"function":{"name":"b","arguments":"{}"}`)+finish("tool_calls")))
	events, err := ask(t, open(t, openai.ProtocolChat, sdk.ProviderInfo{BaseURL: srv.URL()}), nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, ev := range events {
		if ev.CallID != "" {
			seen[ev.CallID] = true
		}
	}
	if len(seen) != 2 {
		t.Errorf("call IDs %v, want two that differ", seen)
	}
}

func TestUsageForms(t *testing.T) {
	t.Parallel()
	tokens := func(in, out, reasoning, read, write int64) sdk.Tokens {
		return sdk.Tokens{Total: in + out + reasoning + read + write, Input: in, Output: out, Reasoning: reasoning, Cache: sdk.CacheCount{Read: read, Write: write}}
	}
	cases := map[string]struct {
		usage string // fields of the finish chunk
		want  sdk.Tokens
	}{
		"openai":     {`"usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":20}}`, tokens(40, 30, 20, 60, 0)},
		"groq":       {`"x_groq":{"id":"r","usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`, tokens(10, 5, 0, 0, 0)},
		"deepseek":   {`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}`, tokens(2, 5, 0, 8, 0)},
		"moonshot":   {`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"cached_tokens":4}`, tokens(6, 5, 0, 4, 0)},
		"litellm":    {`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"cache_read_input_tokens":4,"cache_creation_input_tokens":3}`, tokens(3, 5, 0, 4, 3)},
		"xai":        {`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":22,"completion_tokens_details":{"reasoning_tokens":7}}`, tokens(10, 5, 7, 0, 0)},
		"google":     {`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":22}`, tokens(10, 5, 7, 0, 0)},
		"floats":     {`"usage":{"prompt_tokens":10.0,"completion_tokens":5.0,"total_tokens":null}`, tokens(10, 5, 0, 0, 0)},
		"null":       {`"usage":null`, sdk.Tokens{}},
		"unreadable": {`"usage":"a lot"`, sdk.Tokens{}},
		"impossible": {`"usage":{"prompt_tokens":-5,"completion_tokens":1e300}`, sdk.Tokens{}},
		"in choice":  {`"x":1`, tokens(3, 2, 0, 0, 0)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inChoice := ""
			if name == "in choice" {
				inChoice = `,"usage":{"prompt_tokens":3,"completion_tokens":2}`
			}
			stream := delta(`"content":"x"`) + `data: {"choices":[{"delta":{},"finish_reason":"stop"` + inChoice + `}],` + c.usage + "}\n\n" + chatDone
			events, err := openai.Decode(openai.ProtocolChat, []byte(stream))
			if err != nil {
				t.Fatal(err)
			}
			if got := events[len(events)-1].Tokens; got != c.want {
				t.Errorf("tokens = %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestMetadataComesBack checks that the events contain everything that a server wants back in the next request.
func TestMetadataComesBack(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		protocol, stream string
		want             sdk.Object // the metadata of the last event that has some
	}{
		"reasoning_content": {openai.ProtocolChat, delta(`"reasoning_content":"a"`) + delta(`"reasoning_content":"b"`) + finish("stop"), sdk.Object{"field": "reasoning_content"}},
		"reasoning":         {openai.ProtocolChat, delta(`"reasoning":"a"`) + finish("stop"), sdk.Object{"field": "reasoning"}},
		"details": {openai.ProtocolChat,
			delta(`"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]`) +
				delta(`"reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b","index":0,"signature":null}]`) +
				delta(`"reasoning_details":[{"type":"reasoning.text","signature":"s","index":0},{"type":"reasoning.encrypted","data":"xx","index":1}]`) +
				delta(`"content":"t"`) + finish("stop"),
			sdk.Object{"field": "reasoning_details", "details": []any{
				map[string]any{"type": "reasoning.text", "text": "ab", "index": 0.0, "signature": "s"},
				map[string]any{"type": "reasoning.encrypted", "data": "xx", "index": 1.0},
			}}},
		"details alone": {openai.ProtocolChat, delta(`"content":"t"`) + delta(`"reasoning_details":[{"type":"reasoning.encrypted","data":"xx"}]`) + finish("stop"),
			sdk.Object{"field": "reasoning_details", "details": []any{map[string]any{"type": "reasoning.encrypted", "data": "xx"}}}},
		"signature of a call": {openai.ProtocolChat,
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]`) + finish("stop"),
			sdk.Object{"extra_content": map[string]any{"google": map[string]any{"thought_signature": "s"}}}},
		"encrypted": {openai.ProtocolResponses, item("done", 0, `"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"`) + completed,
			sdk.Object{"itemID": "rs_1", "encrypted": "gA"}},
		"phase": {openai.ProtocolResponses, event("response.output_text.delta", `"output_index":0,"delta":"x"`) + item("done", 0, `"type":"message","id":"m","phase":"commentary","content":[]`) + completed,
			sdk.Object{"phase": "commentary"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := openai.Decode(c.protocol, []byte(c.stream))
			wiretest.CheckRules(t, events, err)
			if err != nil {
				t.Fatal(err)
			}
			var got sdk.Object
			for _, ev := range events {
				if ev.Metadata != nil {
					got = ev.Metadata
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func event(typ, fields string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,%s}\n\n", typ, typ, fields)
}

func item(what string, index int, fields string) string {
	return event("response.output_item."+what, fmt.Sprintf(`"output_index":%d,"item":{%s}`, index, fields))
}

const completed = `data: {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":3,"output_tokens":2}}}` + "\n\n"

func TestResponsesDialects(t *testing.T) {
	t.Parallel()
	args := func(index int, delta string) string {
		return event("response.function_call_arguments.delta", fmt.Sprintf(`"output_index":%d,"delta":%q`, index, delta))
	}
	cases := map[string]dialect{
		"items without deltas": {item("done", 0, `"type":"reasoning","summary":[{"text":"a"},{"text":"b"}]`) + item("done", 1, `"type":"message","content":[{"type":"output_text","text":"x"},{"type":"refusal","refusal":"no"}]`) +
			item("done", 2, `"type":"function_call","call_id":"c","name":"read","arguments":"{}"`) + completed, []string{"reasoning:a\n\nb", "text:xno", "read:{}", "finish:tool-calls"}},
		"arguments as objects": {item("added", 0, `"type":"function_call","call_id":"c","name":"read","arguments":{}`) + event("response.function_call_arguments.done", `"output_index":0,"arguments":{"a":1}`) +
			item("done", 1, `"type":"function_call","call_id":"d","name":"grep","arguments":{"b":2}`) + completed, []string{`read:{"a":1}`, `grep:{"b":2}`, "finish:tool-calls"}},
		"arguments done alone":   {item("added", 0, `"type":"function_call","call_id":"c","name":"read"`) + event("response.function_call_arguments.done", `"output_index":0,"arguments":"{}"`) + completed, []string{"read:{}", "finish:tool-calls"}},
		"arguments before item":  {args(0, "{") + args(0, "}") + item("added", 0, `"type":"function_call","call_id":"c","name":"read"`) + completed, []string{"read:{}", "finish:tool-calls"}},
		"item done, never added": {args(0, "{}") + item("done", 0, `"type":"function_call","call_id":"c","name":"read","arguments":"{}"`) + completed, []string{"read:{}", "finish:tool-calls"}},
		"every item has index 0": {item("added", 0, `"type":"message"`) + event("response.output_text.delta", `"output_index":0,"delta":"x"`) + item("done", 0, `"type":"message","content":[{"text":"x"}]`) +
			item("added", 0, `"type":"function_call","call_id":"c","name":"read"`) + args(0, "{}") + item("done", 0, `"type":"function_call","call_id":"c","name":"read","arguments":"{}"`) +
			item("added", 0, `"type":"function_call","call_id":"d","name":"grep"`) + args(0, "[]") + item("done", 0, `"type":"function_call","call_id":"d","name":"grep","arguments":"[]"`) + completed,
			[]string{"text:x", "read:{}", "grep:[]", "finish:tool-calls"}},
		"output at the end alone": {event("response.created", `"response":{}`) + event("response.completed", `"response":{"status":"completed","output":[{"type":"message","content":[{"text":"x"}]},{"type":"function_call","call_id":"c","name":"read","arguments":"{}"}]}`),
			[]string{"text:x", "read:{}", "finish:tool-calls"}},
		"done twice":              {item("done", 0, `"type":"message","content":[{"text":"x"}]`) + item("done", 0, `"type":"message","content":[{"text":"x"}]`) + completed, []string{"text:x", "finish:stop"}},
		"parts of reasoning":      {event("response.reasoning_summary_text.delta", `"output_index":0,"summary_index":0,"delta":"a"`) + event("response.reasoning_summary_text.delta", `"output_index":0,"summary_index":1,"delta":"b"`) + completed, []string{"reasoning:a\n\nb", "finish:stop"}},
		"raw and summed up":       {event("response.reasoning_text.delta", `"output_index":0,"delta":"a"`) + event("response.reasoning_summary_text.delta", `"output_index":0,"delta":"A"`) + completed, []string{"reasoning:a", "finish:stop"}},
		"other items":             {item("added", 0, `"type":"web_search_call","id":"ws"`) + item("done", 0, `"type":"web_search_call","id":"ws"`) + event("response.queued", `"x":1`) + item("done", 1, `"type":"message","content":[{"text":"x"}]`) + completed, []string{"text:x", "finish:stop"}},
		"refusal":                 {event("response.refusal.delta", `"output_index":0,"delta":"no"`) + completed, []string{"text:no", "finish:stop"}},
		"incomplete":              {event("response.output_text.delta", `"output_index":0,"delta":"x"`) + event("response.incomplete", `"response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}`), []string{"text:x", "finish:length"}},
		"incomplete, other cause": {event("response.incomplete", `"response":{"incomplete_details":{"reason":"whim"}}`), []string{"finish:other"}},
		"keepalives":              {": hi\n\n" + event("response.created", `"response":{}`) + event("keepalive", `"sequence_number":3`) + completed, []string{"finish:stop"}},
	}
	decodeAll(t, openai.ProtocolResponses, cases)
}

// TestDisorder shuffles, repeats and drops the events of sound answers. Nothing may break: the answer
// keeps to the contract or is an error.
func TestDisorder(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{openai.ProtocolChat, openai.ProtocolResponses} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			events := strings.SplitAfter(rawAnswer(protocol), "\n\n")
			for seed := range uint64(500) {
				r := rand.New(rand.NewPCG(seed, 1))
				var mixed []string
				for _, e := range events {
					for range r.IntN(3) {
						mixed = append(mixed, e)
					}
				}
				if seed%2 == 0 {
					r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
				}
				got, err := openai.Decode(protocol, []byte(strings.Join(mixed, "")))
				wiretest.CheckRules(t, got, err)
				if t.Failed() {
					t.Fatalf("seed %d:\n%s", seed, strings.Join(mixed, ""))
				}
			}
		})
	}
}

package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/providers/anthropic"
	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func event(data string) string { return "data: " + data + "\n\n" }

const (
	start    = `{"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":4}}}`
	textOpen = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	end      = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`
	stop     = `{"type":"message_stop"}`
)

func textDelta(text string) string {
	return event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`)
}

// TestSmallValuesOfCitations: such values count by the memory that they take when they are decoded, not by the size of their text.
func TestSmallValuesOfCitations(t *testing.T) {
	t.Parallel()
	citation := event(`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"a":[{}` + strings.Repeat(",{}", 1<<14) + `]}}}`)
	stream := event(start) + event(textOpen) + strings.Repeat(citation, 10) + event(end) + event(stop)
	if _, err := wiretest.Decode(t.Context(), anthropic.Open, wiretest.Info(), wiretest.Hello(), []byte(stream)); !errors.Is(err, sdk.ErrAnswerLimit) {
		t.Errorf("error %v, want %v", err, sdk.ErrAnswerLimit)
	}
}

func TestAnswerWithoutMessageStop(t *testing.T) {
	t.Parallel()
	stream := event(start) + event(textOpen) + textDelta("hi") + event(end)
	events, err := wiretest.Decode(t.Context(), anthropic.Open, wiretest.Info(), wiretest.Hello(), []byte(stream))
	if err != nil || len(events) != 2 || events[0].Text != "hi" || events[1].Reason != sdk.FinishStop {
		t.Errorf("%+v, %v", events, err)
	}
}

// A call of the first message must not run if its second version follows. The event that begins a message may come twice.
func TestAnotherMessage(t *testing.T) {
	t.Parallel()
	begin := func(id string) string { return event(`{"type":"message_start","message":{"id":"` + id + `"}}`) }
	for second, want := range map[string]string{"msg_1": "", "msg_2": "another one began"} {
		stream := begin("msg_1") + event(textOpen) + textDelta("hi") + begin(second) + event(end) + event(stop)
		_, err := wiretest.Decode(t.Context(), anthropic.Open, wiretest.Info(), wiretest.Hello(), []byte(stream))
		if failed, _ := errors.AsType[*sdk.ProviderError](err); (want != "") != (err != nil) || err != nil && !(failed.Cut && strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", second, err, want)
		}
	}
}

// TestUnreadableUsage: the answer is not lost if counts have an unexpected type.
func TestUnreadableUsage(t *testing.T) {
	t.Parallel()
	stream := event(start) + event(textOpen) + textDelta("hi") + event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":"many","output_tokens":5}}`) + event(stop)
	events, err := wiretest.Decode(t.Context(), anthropic.Open, wiretest.Info(), wiretest.Hello(), []byte(stream))
	if want := (sdk.Tokens{Total: 12, Input: 3, Output: 5, Cache: sdk.CacheCount{Read: 4}}); err != nil || events[len(events)-1].Tokens != want {
		t.Errorf("%+v, %v, want the tokens %+v", events, err, want)
	}
}

// The arguments of a call may come whole, and are missing if they are null.
func TestWholeArguments(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{`{"a":1}`: `{"a":1}`, `{}`: `{}`, `null`: ``} {
		call := event(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"list","input":` + input + `}}`)
		events, err := wiretest.Decode(t.Context(), anthropic.Open, wiretest.Info(), wiretest.Hello(), []byte(event(start)+call+event(end)+event(stop)))
		args := ""
		for i := range events {
			if events[i].Type == sdk.StreamToolCall {
				args += events[i].Text
			}
		}
		if err != nil || args != want {
			t.Errorf("%s: arguments %q, %v, want %q", input, args, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(event(start) + event(textOpen) + textDelta("hi") + event(end) + event(stop)))
	f.Add([]byte(event(`{"type":"content_block_start","content_block":{"type":"redacted_thinking","data":"x"}}`) + event(stop)))
	f.Add([]byte(`{"type":"message","content":[{"type":"tool_use","id":"a","name":"b","input":{"c":1}}],"stop_reason":"tool_use"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := wiretest.Decode(t.Context(), anthropic.Open, wiretest.Info(), wiretest.Hello(), data)
		wiretest.CheckRules(t, events, err)
	})
}

// conversation has reasoning, a call, its result with an image, and the user's next words.
func conversation() *sdk.ModelRequest {
	req := wiretest.Hello()
	req.Model = sdk.Model{ID: "claude-sonnet-4-5", ProviderID: "test", Limit: sdk.ModelLimit{Output: 64_000}}
	req.System = []string{"You are a coding agent.", "<env>", "more"}
	req.Params.MaxOutputTokens = 1000
	req.Messages = append(req.Messages,
		sdk.ModelMessage{Role: sdk.RoleAssistant, Content: []sdk.ModelContent{
			{Type: sdk.ContentReasoning, Text: "hm", Metadata: sdk.Object{"signature": "sig"}},
			{Type: sdk.ContentReasoning, Metadata: sdk.Object{"redacted": "sealed"}},
			{Type: sdk.ContentReasoning, Text: "of another model"},
			{Type: sdk.ContentText, Text: "I look."},
			{Type: sdk.ContentToolCall, CallID: "call/1", Tool: "read", Args: json.RawMessage(`{"a":1}`)},
		}},
		sdk.ModelMessage{Role: sdk.RoleTool, Content: []sdk.ModelContent{{
			Type: sdk.ContentToolResult, CallID: "call/1", Tool: "read", Text: "no", IsError: true,
			Files: []*sdk.FilePart{{Mime: "image/png", URL: "data:image/png;base64,QQ=="}},
		}}},
		sdk.ModelMessage{Role: sdk.RoleUser, Content: []sdk.ModelContent{
			{Type: sdk.ContentFile, Mime: "application/pdf", Filename: "a.pdf", URL: "data:application/pdf;base64,QQ=="}, {Type: sdk.ContentText, Text: "go on"},
		}},
	)
	return req
}

func TestRequest(t *testing.T) {
	t.Parallel()
	info := wiretest.Info()
	info.Key = "secret-key"
	sent, body := wiretest.Sent(t, anthropic.Open, info, conversation())
	if sent.URL.Path != "/v1/messages" || sent.Header.Get("x-api-key") != "secret-key" || sent.Header.Get("anthropic-version") != "2023-06-01" ||
		!strings.Contains(sent.Header.Get("anthropic-beta"), "interleaved-thinking") || sent.Header.Get("Authorization") != "" {
		t.Errorf("path %s, headers %v", sent.URL.Path, sent.Header)
	}
	want := `{"model":"claude-sonnet-4-5","max_tokens":1000,` +
		`"system":[{"type":"text","text":"You are a coding agent.","cache_control":{"type":"ephemeral"}},{"type":"text","text":"<env>\n\nmore","cache_control":{"type":"ephemeral"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"redacted_thinking","data":"sealed"},{"type":"text","text":"I look."},{"type":"tool_use","id":"call_1","name":"read","input":{"a":1}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"no"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ=="}}],"is_error":true},` +
		`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"QQ=="},"title":"a.pdf"},{"type":"text","text":"go on","cache_control":{"type":"ephemeral"}}]}],` +
		`"tools":[{"name":"read","description":"Reads a file.","input_schema":{"properties":{},"type":"object"},"eager_input_streaming":true}],"stream":true}`
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
}

// The server would refuse the session's later requests, too. The limits of other models, on files and on names of properties, are not known.
func TestOversizedImage(t *testing.T) {
	t.Parallel()
	req := conversation()
	req.Messages[2].Content[0].Files[0].URL = "data:image/png;base64," + strings.Repeat("QUFB", 3<<20)
	if _, body := wiretest.Sent(t, anthropic.Open, wiretest.Info(), req); !strings.Contains(body, `{"type":"text","text":"[ cannot be shown: it has more than 10 MiB in base64. Tell the user.]"}`) {
		t.Errorf("the body has %d bytes", len(body))
	}
	req.Model.ID = "kimi-k2.5"
	req.Tools[0].Parameters = json.RawMessage(`{"type":"object","properties":{"$top":{}}}`) // a name that Claude does not accept
	if _, body := wiretest.Sent(t, anthropic.Open, wiretest.Info(), req); len(body) < 12<<20 || !strings.Contains(body, `"properties":{"$top":{}}`) {
		t.Errorf("of another model, the body has %d bytes, with the tool %s", len(body), body[max(0, len(body)-200):])
	}
}

func TestThinking(t *testing.T) {
	t.Parallel()
	temperature := 0.5
	for name, c := range map[string]struct {
		model   string
		options sdk.Object
		want    []string
		without string
	}{
		"budget":   {"claude-opus-4-1", sdk.Object{"thinking": sdk.Object{"type": "enabled", "budgetTokens": 4000.0}}, []string{`"max_tokens":5000`, `"thinking":{"budget_tokens":4000,"type":"enabled"}`}, "temperature"},
		"adaptive": {"claude-sonnet-5", sdk.Object{"thinking": sdk.Object{"type": "adaptive"}, "effort": "high"}, []string{`"thinking":{"type":"adaptive"}`, `"output_config":{"effort":"high"}`}, "temperature"},
		"drop":     {"claude-sonnet-5-5", sdk.Object{"thinking": sdk.Object{"type": "adaptive"}}, []string{`"block_binding":{"prefix_mismatch_behavior":"drop_block"}`}, "temperature"},
		"off":      {"claude-sonnet-4-5", nil, []string{`"temperature":0.5`}, "thinking"},
		"refused":  {"claude-opus-4-8", nil, nil, "temperature"},
		"unmarked": {"claude-sonnet-4-5", sdk.Object{"cacheControl": false}, nil, "cache_control"},
	} {
		req := wiretest.Hello()
		req.Model = sdk.Model{ID: c.model, Limit: sdk.ModelLimit{Output: 32_000}}
		req.Params = sdk.ChatParams{Temperature: &temperature, MaxOutputTokens: 1000, Options: c.options}
		_, body := wiretest.Sent(t, anthropic.Open, wiretest.Info(), req)
		for _, want := range c.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s: body %s lacks %s", name, body, want)
			}
		}
		if strings.Contains(body, c.without) {
			t.Errorf("%s: body %s has %s", name, body, c.without)
		}
	}
}

// Other models get the IDs of their calls unchanged.
func TestCallIDs(t *testing.T) {
	t.Parallel()
	req := conversation()
	req.Model.ID = "kimi-k2.5"
	_, body := wiretest.Sent(t, anthropic.Open, wiretest.Info(), req)
	for _, want := range []string{`"id":"call/1"`, `"tool_use_id":"call/1"`} {
		if !strings.Contains(body, want) {
			t.Errorf("body %s lacks %s", body, want)
		}
	}
}

// The option of the AI SDK belongs to the choice of tools, which the server takes only with tools.
func TestParallelCalls(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]string{
		"": `{"disable_parallel_tool_use":true,"type":"auto"}`, sdk.ToolChoiceRequired: `{"disable_parallel_tool_use":true,"type":"any"}`, sdk.ToolChoiceNone: `{"type":"none"}`,
	} {
		req := conversation()
		req.ToolChoice, req.Params.Options = choice, sdk.Object{"disableParallelToolUse": true}
		_, with := wiretest.Sent(t, anthropic.Open, wiretest.Info(), req)
		req.Tools = nil
		_, without := wiretest.Sent(t, anthropic.Open, wiretest.Info(), req)
		if !strings.Contains(with, `"tool_choice":`+want) || strings.Contains(without, "tool_choice") {
			t.Errorf("%q: body %s, want %s in it; without tools: %s", choice, with, want, without)
		}
	}
}

func TestVertex(t *testing.T) {
	t.Parallel()
	info := wiretest.Info()
	info.NPM, info.Headers = "@ai-sdk/google-vertex/anthropic", map[string]string{"Authorization": "Bearer own"}
	req := wiretest.Hello()
	req.Model.ID = "claude-sonnet-4-5@20250929"
	sent, body := wiretest.Sent(t, anthropic.Open, info, req)
	if got := sent.URL.EscapedPath(); got != "/v1/claude-sonnet-4-5%4020250929:streamRawPredict" {
		t.Errorf("path %s", got)
	}
	if !strings.HasPrefix(body, `{"anthropic_version":"vertex-2023-10-16","max_tokens"`) || strings.Contains(body, `"model"`) || sent.Header.Get("Authorization") != "Bearer own" {
		t.Errorf("header %v, body %s", sent.Header, body)
	}
}

// TestTurnReadsItsCache: of a turn of twenty steps, the server reads at least nine tenths of the input from its cache, even if each step has more
// calls than the server looks back.
func TestTurnReadsItsCache(t *testing.T) {
	t.Parallel()
	for _, calls := range []int{1, 25} {
		req := wiretest.Hello()
		req.Model = sdk.Model{ID: "claude-sonnet-4-5"}
		req.System = []string{strings.Repeat("You are a coding agent. ", 400), "<env>"}
		var cache prefixCache
		for i := range 20 {
			_, body := wiretest.Sent(t, anthropic.Open, wiretest.Info(), req)
			cache.request(t, body)
			answer := []sdk.ModelContent{{Type: sdk.ContentReasoning, Text: "hm", Metadata: sdk.Object{"signature": "sig"}}}
			var results []sdk.ModelContent
			for n := range calls {
				id := fmt.Sprintf("call_%d_%d", i, n)
				answer = append(answer, sdk.ModelContent{Type: sdk.ContentToolCall, CallID: id, Tool: "read", Args: json.RawMessage(`{}`)})
				results = append(results, sdk.ModelContent{Type: sdk.ContentToolResult, CallID: id, Tool: "read", Text: strings.Repeat("line\n", 200/calls)})
			}
			req.Messages = append(req.Messages, sdk.ModelMessage{Role: sdk.RoleAssistant, Content: answer}, sdk.ModelMessage{Role: sdk.RoleTool, Content: results})
		}
		if share := float64(cache.read) / float64(cache.total); share < 0.9 {
			t.Errorf("%d calls a step: %.1f%% of the input were read from the cache, want 90%%", calls, 100*share)
		}
	}
}

// TestSeparateRequest: what is asked once is not stored in the server's cache.
func TestSeparateRequest(t *testing.T) {
	t.Parallel()
	for purpose, want := range map[sdk.Purpose]bool{sdk.PurposeTurn: true, sdk.PurposeSubtask: true, sdk.PurposeTitle: false, sdk.PurposeCompaction: false} {
		req := conversation()
		req.Purpose = purpose
		if _, body := wiretest.Sent(t, anthropic.Open, wiretest.Info(), req); strings.Contains(body, "cache_control") != want {
			t.Errorf("%s: marks %v, want %v: %s", purpose, !want, want, body)
		}
	}
}

// prefixCache accounts as Anthropic does: a mark stores the prefix up to its block; a later request reads the longest stored prefix
// that ends at most 20 blocks before one of its marks.
type prefixCache struct {
	stored      map[string]bool
	read, total int // bytes
}

func (c *prefixCache) request(t *testing.T, body string) {
	t.Helper()
	var r struct {
		Tools, System []json.RawMessage
		Messages      []struct {
			Content []json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatal(err)
	}
	blocks := append(r.Tools, r.System...)
	for _, m := range r.Messages {
		blocks = append(blocks, m.Content...)
	}
	const mark = `,"cache_control":{"type":"ephemeral"}`
	prefixes, marks, prefix := make([]string, len(blocks)), []int{}, ""
	for i, b := range blocks {
		if strings.Contains(string(b), mark) {
			marks = append(marks, i)
		}
		prefix += strings.ReplaceAll(string(b), mark, "")
		prefixes[i] = prefix
	}
	if len(marks) == 0 || len(marks) > 4 {
		t.Errorf("%d marks, want 1 to 4", len(marks))
	}
	read := 0
	for _, at := range marks {
		for i := at; i >= 0 && i > at-20; i-- {
			if c.stored[prefixes[i]] {
				read = max(read, len(prefixes[i]))
			}
		}
	}
	if c.stored == nil {
		c.stored = map[string]bool{}
	}
	for _, at := range marks {
		c.stored[prefixes[at]] = true
	}
	c.read, c.total = c.read+read, c.total+len(prefix)
}

// TestReasoningSentBack: signed blocks keep their places, which a blank text can mark. The server refuses blank texts elsewhere, and reasoning at the
// end of an answer, where an interruption leaves it.
func TestReasoningSentBack(t *testing.T) {
	t.Parallel()
	signed := sdk.ModelContent{Type: sdk.ContentReasoning, Text: "hm", Metadata: sdk.Object{"signature": "sig"}}
	unsigned := sdk.ModelContent{Type: sdk.ContentReasoning, Text: "hm"}
	blank, text := sdk.ModelContent{Type: sdk.ContentText, Text: "\n"}, sdk.ModelContent{Type: sdk.ContentText, Text: "a"}
	const thought, said = `{"type":"thinking","thinking":"hm","signature":"sig"}`, `{"type":"text","text":"a"}`
	for name, c := range map[string]struct {
		answer []sdk.ModelContent
		want   string // the blocks of the answer; empty: no message
	}{
		"between signed blocks":    {[]sdk.ModelContent{signed, blank, signed, text}, thought + `,{"type":"text","text":"\n"},` + thought + "," + said},
		"before unsigned":          {[]sdk.ModelContent{signed, text, blank, unsigned, text}, thought + "," + said + "," + said},
		"at the end":               {[]sdk.ModelContent{signed, text, signed}, thought + "," + said},
		"blank and signed at last": {[]sdk.ModelContent{text, blank, signed, blank}, said},
		"alone":                    {[]sdk.ModelContent{signed}, ""},
	} {
		req := wiretest.Hello()
		req.Params.Options = sdk.Object{"cacheControl": "none"}
		req.Messages = []sdk.ModelMessage{req.Messages[0], {Role: sdk.RoleAssistant, Content: c.answer}, req.Messages[0]}
		_, body := wiretest.Sent(t, anthropic.Open, wiretest.Info(), req)
		if _, after, found := strings.Cut(body, `{"role":"assistant","content":[`); found != (c.want != "") || !strings.HasPrefix(after, c.want) || found && !strings.HasPrefix(after[len(c.want):], `]}`) {
			t.Errorf("%s: %s, want %s", name, body, c.want)
		}
	}
}

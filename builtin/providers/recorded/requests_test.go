package recorded_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/catalog"
	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	npmnames "github.com/tenonhq/tenon/internal/npm"
	"github.com/tenonhq/tenon/sdk"
)

// requestRule is what the server of a package needs in a request.
type requestRule struct {
	id, npm, model string
	known          sdk.Model // what a catalog knows of the model
	variant        string
	options        sdk.Object // of the model, by the user
	schema         string     // of the tool; "none": no tool
	choice         string     // a constant for sdk.ModelRequest.ToolChoice
	want           string     // parts of the body that are there, with " … " between them
	without        string     // parts that are not
	headers        map[string]string
}

const (
	cached   = `"cache_control":{"type":"ephemeral"}`
	resulted = `"type":"tool_result"`
	toolPNG  = "data:image/png;base64,QQ=="
)

// request returns a request after a call, with the options and parameters of the model's family, as the host sends it.
func (r *requestRule) request(info *sdk.ProviderInfo) *sdk.ModelRequest {
	req := wiretest.Hello()
	req.ToolChoice = r.choice
	m := r.known
	m.ID, m.APIID, m.ProviderID = r.model, r.model, info.ID
	m.Modalities.Input = []string{"text", "image", "pdf"}
	catalog.New().CompleteModel(info, &m)
	req.Model, req.System = m, []string{"You are a coding agent.", "<env>"}
	req.Params = sdk.ChatParams{TopP: m.Sampling.TopP, TopK: m.Sampling.TopK, MaxOutputTokens: 32_000, Options: sdk.Object{}}
	if m.Temperature {
		req.Params.Temperature = m.Sampling.Temperature
	}
	for _, o := range []sdk.Object{m.Options, m.Variants[r.variant], r.options} {
		maps.Copy(req.Params.Options, o)
	}
	if req.Tools[0].Parameters = json.RawMessage(r.schema); r.schema == "none" {
		req.Tools = nil
	}
	req.Messages = append(req.Messages,
		sdk.ModelMessage{Role: sdk.RoleAssistant, Content: []sdk.ModelContent{
			{Type: sdk.ContentText, Text: "I look."}, {Type: sdk.ContentToolCall, CallID: "call:1", Tool: "read", Args: json.RawMessage(`{"a":1}`)},
		}},
		sdk.ModelMessage{Role: sdk.RoleTool, Content: []sdk.ModelContent{{
			Type: sdk.ContentToolResult, CallID: "call:1", Tool: "read", Text: "seen", Files: []*sdk.FilePart{{Mime: "image/png", URL: toolPNG}},
		}}},
		sdk.ModelMessage{Role: sdk.RoleUser, Content: []sdk.ModelContent{{Type: sdk.ContentText, Text: "go on"}}},
	)
	return req
}

// requestRules are opencode's, see its packages/opencode/src/provider/transform.ts, and those of the packages that it uses.
func requestRules() map[string]requestRule {
	const object = `{"type":"object","properties":{"a":{"type":"string"}}}`
	const brackets = `{"type":"object","properties":{"filter[id]":{"type":"string"}}}`
	const alternatives = `{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"number"}}}]}`
	referer := map[string]string{"HTTP-Referer": "https://github.com/tenonhq/tenon", "X-Title": "tenon"}
	reasons := sdk.Model{Reasoning: true, Temperature: true, Limit: sdk.ModelLimit{Output: 64_000}}
	thinks := sdk.Model{Reasoning: true, Limit: sdk.ModelLimit{Output: 64_000}}
	return map[string]requestRule{
		// Marks of the cache
		"marks at Anthropic":         {npm: "@ai-sdk/anthropic", model: "claude-sonnet-4-5", want: `"text":"<env>",` + cached + ` … "text":"hi",` + cached + ` … ` + resulted + ` … "text":"go on",` + cached},
		"marks on Vertex AI":         {npm: "@ai-sdk/google-vertex/anthropic", model: "claude-sonnet-4-5@20250929", want: `"text":"<env>",` + cached, without: `"model"`},
		"marks at Bedrock":           {npm: "@ai-sdk/amazon-bedrock", model: "anthropic.claude-sonnet-4-5", want: `"text":"<env>"},{"cachePoint":{"type":"default"}} … "text":"go on"},{"cachePoint":{"type":"default"}}`},
		"no marks for Nova":          {npm: "@ai-sdk/amazon-bedrock", model: "amazon.nova-pro", without: "cachePoint"},
		"marks at OpenRouter":        {npm: "@openrouter/ai-sdk-provider", model: "anthropic/claude-sonnet-4.5", want: `"role":"system","content":[{"type":"text","text":"You are a coding agent.\n\n<env>",` + cached + ` … "text":"go on",` + cached},
		"no marks for GPT":           {npm: "@openrouter/ai-sdk-provider", model: "openai/gpt-5.2", without: "cache_control"},
		"marks of compatible":        {npm: "@ai-sdk/openai-compatible", model: "claude-sonnet-4-5", want: `"text":"go on",` + cached},
		"marks at Alibaba":           {npm: "@ai-sdk/alibaba", model: "qwen3-max", want: `"text":"go on",` + cached},
		"the gateway marks":          {npm: "@ai-sdk/gateway", model: "anthropic/claude-sonnet-4.5", want: `"providerOptions":{"gateway":{"caching":"auto"}}`, without: "cache_control"},
		"marks switched off":         {npm: "@ai-sdk/anthropic", model: "claude-sonnet-4-5", options: sdk.Object{"cacheControl": false}, without: "cache_control … cacheControl"},
		"Bedrock's switched off":     {npm: "@ai-sdk/amazon-bedrock", model: "anthropic.claude-sonnet-4-5", options: sdk.Object{"cacheControl": false}, without: "cachePoint … cacheControl"},
		"OpenRouter's switched off":  {npm: "@openrouter/ai-sdk-provider", model: "anthropic/claude-sonnet-4.5", options: sdk.Object{"cacheControl": false}, without: "cache_control … cacheControl"},
		"prompt_cache_key":           {npm: "@ai-sdk/openai", model: "gpt-5.2", want: `"prompt_cache_key":"ses_1"`},
		"prompt_cache_key, xAI":      {npm: "@ai-sdk/xai", model: "grok-4", want: `"prompt_cache_key":"ses_1"`},
		"prompt_cache_key, Azure":    {npm: "@ai-sdk/azure", model: "gpt-5.2", want: `"prompt_cache_key":"ses_1"`},
		"prompt_cache_key, Mistral":  {npm: "@ai-sdk/mistral", model: "mistral-large-2512", want: `"prompt_cache_key":"ses_1"`},
		"prompt_cache_key, Venice":   {npm: "venice-ai-sdk-provider", model: "x", want: `"prompt_cache_key":"ses_1"`},
		"prompt_cache_key, Cerebras": {npm: "@ai-sdk/cerebras", model: "gpt-oss-120b", want: `"prompt_cache_key":"ses_1"`},
		"no prompt_cache_key":        {npm: "@ai-sdk/groq", model: "x", without: "prompt_cache_key"},
		// Variants and sampling
		"GPT-5":                   {npm: "@ai-sdk/openai", model: "gpt-5.2", known: thinks, want: `"reasoning":{"effort":"medium","summary":"auto"} … "text":{"verbosity":"low"}`, without: `"temperature" … "top_p" … "top_k"`},
		"GPT-5 with effort":       {npm: "@ai-sdk/openai", model: "gpt-5.2", known: thinks, variant: "xhigh", want: `"include":["reasoning.encrypted_content"] … "reasoning":{"effort":"xhigh","summary":"auto"}`},
		"GPT-5 codex":             {npm: "@ai-sdk/openai", model: "gpt-5.3-codex", known: thinks, without: "verbosity"},
		"Azure has no verbosity":  {npm: "@ai-sdk/azure", model: "gpt-5.2", known: thinks, without: "verbosity"},
		"Claude 4.1 with budget":  {npm: "@ai-sdk/anthropic", model: "claude-opus-4-1", known: reasons, variant: "max", want: `"max_tokens":63999 … "thinking":{"budget_tokens":31999,"type":"enabled"}`},
		"Claude 4.6 adaptive":     {npm: "@ai-sdk/anthropic", model: "claude-opus-4-6", known: reasons, variant: "max", want: `"output_config":{"effort":"max"} … "thinking":{"type":"adaptive"}`},
		"Claude 4.7 summarized":   {npm: "@ai-sdk/anthropic", model: "claude-opus-4-7", known: reasons, variant: "xhigh", want: `"display":"summarized"`, without: `"temperature"`},
		"Claude 5.1 drops blocks": {npm: "@ai-sdk/anthropic", model: "claude-sonnet-5-1", known: reasons, variant: "low", want: `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`, headers: map[string]string{"anthropic-beta": "fine-grained-tool-streaming-2025-05-14,interleaved-thinking-2025-05-14,thinking-binding-controls-2026-08-01"}},
		"Claude 5.5 on Vertex AI": {npm: "@ai-sdk/google-vertex/anthropic", model: "claude-opus-5-5", known: reasons, variant: "low", want: `"block_binding":{`, headers: map[string]string{"anthropic-beta": "thinking-binding-controls-2026-08-01"}},
		"Claude 5.1, no thinking": {npm: "@ai-sdk/anthropic", model: "claude-sonnet-5-1", known: reasons, without: "block_binding", headers: map[string]string{"anthropic-beta": "fine-grained-tool-streaming-2025-05-14,interleaved-thinking-2025-05-14"}},
		"Claude 4.5 Opus":         {npm: "@ai-sdk/anthropic", model: "claude-opus-4-5", known: reasons, variant: "high", want: `"output_config":{"effort":"high"} … "type":"enabled"`},
		"Claude at Bedrock":       {npm: "@ai-sdk/amazon-bedrock", model: "anthropic.claude-opus-4-6", known: reasons, variant: "high", want: `"additionalModelRequestFields":{"output_config":{"effort":"high"},"thinking":{"type":"adaptive"}}`},
		"Nova at Bedrock":         {npm: "@ai-sdk/amazon-bedrock", model: "amazon.nova-2-lite", known: reasons, variant: "low", want: `"additionalModelRequestFields":{"reasoningConfig":{"maxReasoningEffort":"low","type":"enabled"}}`},
		"Gemini 2.5 with budget":  {npm: "@ai-sdk/google", model: "gemini-2.5-pro", known: reasons, variant: "max", want: `"thinkingBudget":32768`},
		"Gemini 3 with level":     {npm: "@ai-sdk/google", model: "gemini-3-pro", known: reasons, want: `"temperature":1 … "includeThoughts":true … "thinkingLevel":"high" … "topK":64 … "topP":0.95`},
		"OpenRouter with usage":   {npm: "@openrouter/ai-sdk-provider", model: "openai/gpt-5.2", known: reasons, variant: "low", want: `"reasoning":{"effort":"low"} … "usage":{"include":true}`},
		"Groq without reasoning":  {npm: "@ai-sdk/groq", model: "gpt-oss-120b", known: reasons, variant: "none", want: `"reasoning_effort":"none"`},
		"Kimi":                    {npm: "@ai-sdk/openai-compatible", model: "kimi-k2.5", known: reasons, want: `"temperature":1,"top_p":0.95`},
		"Kimi K2":                 {npm: "@ai-sdk/openai-compatible", model: "kimi-k2-0905", known: reasons, want: `"temperature":0.6`},
		"MiniMax":                 {npm: "@ai-sdk/openai-compatible", model: "minimax-m2.1", known: reasons, want: `"top_k":40`},
		"GLM 5.2":                 {npm: "@ai-sdk/openai-compatible", model: "glm-5.2", known: thinks, variant: "max", want: `"reasoning_effort":"max"`},
		"Z.AI":                    {id: "zai", npm: "@ai-sdk/openai-compatible", model: "glm-4.6", known: reasons, want: `"thinking":{"clear_thinking":false,"type":"enabled"}`},
		"Alibaba China":           {id: "alibaba-cn", npm: "@ai-sdk/openai-compatible", model: "qwen3-max", known: thinks, want: `"enable_thinking":true`},
		"Copilot's Claude":        {npm: "@ai-sdk/github-copilot", model: "claude-opus-4.6", known: reasons, variant: "high", want: `"output_config":{"effort":"high"}`, without: "reasoningEffort … eager_input_streaming", headers: map[string]string{"anthropic-beta": "interleaved-thinking-2025-05-14", "Openai-Intent": "conversation-edits"}},
		"Copilot's GPT":           {npm: "@ai-sdk/github-copilot", model: "gpt-5.2", known: thinks, variant: "high", want: `"reasoning":{"effort":"high","summary":"auto"}`, without: "max_output_tokens"},
		// Schemas of tools
		"OpenAI's subset":         {npm: "@ai-sdk/openai", model: "gpt-5.2", schema: `{"$schema":"x","type":"object","properties":{"a":{"const":1,"title":"t"}}}`, want: `"parameters":{"properties":{"a":{"enum":[1]}},"type":"object"},"strict":false`},
		"OpenAI's objects":        {npm: "@ai-sdk/openai", model: "gpt-5.2", schema: alternatives, want: `"parameters":{"properties":{"a":{"type":"string"},"b":{"type":"number"}},"type":"object"}`},
		"a gateway's objects":     {npm: "@openrouter/ai-sdk-provider", model: "openai/gpt-5.2", schema: `{"type":"object","properties":{"a":{}},"not":{"required":["a"]}}`, want: `"parameters":{"properties":{"a":{}},"type":"object"}`},
		"Anthropic's objects":     {npm: "@ai-sdk/anthropic", model: "claude-sonnet-4-5", schema: alternatives, want: `"input_schema":{"properties":{"a":{"type":"string"},"b":{"type":"number"}},"type":"object"}`},
		"Anthropic's own type":    {npm: "@ai-sdk/anthropic", model: "claude-sonnet-4-5", schema: `{"properties":{"a":{}}}`, want: `"input_schema":{"properties":{"a":{}},"type":"object"}`},
		"Bedrock's objects":       {npm: "@ai-sdk/amazon-bedrock", model: "anthropic.claude-sonnet-4-5", schema: alternatives, want: `"json":{"properties":{"a":{"type":"string"},"b":{"type":"number"}},"type":"object"}`},
		"Anthropic's names":       {npm: "@ai-sdk/anthropic", model: "claude-sonnet-4-5", schema: brackets, want: `"input_schema":{"description":"Further properties: `},
		"Bedrock's names":         {npm: "@ai-sdk/amazon-bedrock", model: "anthropic.claude-sonnet-4-5", schema: brackets, want: `"json":{"description":"Further properties: `},
		"Claude behind a gateway": {npm: "@openrouter/ai-sdk-provider", model: "anthropic/claude-sonnet-4.5", schema: brackets, want: `"parameters":{"description":"Further properties: `},
		"arguments as written":    {npm: "@ai-sdk/anthropic", model: "claude-sonnet-4-5", want: `"eager_input_streaming":true`},
		"not of other models":     {npm: "@ai-sdk/anthropic", model: "minimax-m3", without: "eager_input_streaming"},
		"Gemini's OpenAPI":        {npm: "@ai-sdk/google", model: "gemini-3-pro", schema: `{"type":"object","properties":{"a":{"enum":[1,2]},"b":{"type":["string","null"]},"c":{"type":"array"}},"required":["a","zzz"],"additionalProperties":false}`, want: `"enum":["1","2"] … "nullable":true … "required":["a"]`, without: "additionalProperties … zzz"},
		"Gemini without args":     {npm: "@ai-sdk/google", model: "gemini-3-pro", schema: `{"type":"object","properties":{}}`, without: `"parameters"`},
		"Kimi's references":       {npm: "@ai-sdk/openai-compatible", model: "kimi-k2", schema: `{"type":"object","properties":{"a":{"$ref":"#/$defs/x","title":"t"}}}`, want: `{"$ref":"#/$defs/x"}`, without: `"title"`},
		"xAI's open objects":      {npm: "@ai-sdk/xai", model: "grok-4", schema: `{"type":"object","properties":{},"additionalProperties":false}`, without: "additionalProperties"},
		"a tool for Copilot":      {npm: "@ai-sdk/github-copilot", model: "gpt-4.1", schema: "none", want: `"name":"_noop"`},
		"a tool for LiteLLM":      {id: "my-litellm", npm: "@ai-sdk/openai-compatible", model: "x", schema: "none", want: `"name":"_noop"`},
		"no tool for others":      {npm: "@ai-sdk/openai-compatible", model: "x", schema: "none", without: `"tools"`},
		"calls as text, Bedrock":  {npm: "@ai-sdk/amazon-bedrock", model: "anthropic.claude-sonnet-4-5", schema: "none", want: "[called read", without: "toolUse … toolResult … toolConfig"},
		"Claude is forced":        {npm: "@ai-sdk/anthropic", model: "claude-opus-5", choice: sdk.ToolChoiceRequired, want: `"tool_choice":{"type":"any"}`},
		"not Claude 5.5":          {npm: "@ai-sdk/anthropic", model: "claude-opus-5-5", choice: sdk.ToolChoiceRequired, without: "tool_choice"},
		"nor Fable":               {npm: "@ai-sdk/google-vertex/anthropic", model: "claude-fable-5", choice: sdk.ToolChoiceRequired, without: "tool_choice"},
		"Bedrock forces":          {npm: "@ai-sdk/amazon-bedrock", model: "anthropic.claude-opus-5", choice: sdk.ToolChoiceRequired, want: `"toolChoice":{"any":{}}`},
		"not Claude 5.5, either":  {npm: "@ai-sdk/amazon-bedrock", model: "anthropic.claude-sonnet-5-5", choice: sdk.ToolChoiceRequired, without: "toolChoice"},
		"forced by no one":        {npm: "@ai-sdk/openai", model: "gpt-5.2", without: "tool_choice"},
		"Mistral's IDs and names": {npm: "@ai-sdk/mistral", model: "mistral-large-2512", want: `"name":"read"} … "content":"Done."`, without: `"call:1" … "stream_options"`},
		"Claude's IDs":            {npm: "@ai-sdk/anthropic", model: "claude-sonnet-4-5", want: `"id":"call_1" … "tool_use_id":"call_1"`, without: "call:1"},
		"Bedrock's IDs":           {npm: "@ai-sdk/amazon-bedrock", model: "amazon.nova-pro", want: `"toolUseId":"call_1"`, without: "call:1"},
		// Files in results of tools
		"image within, Anthropic":   {npm: "@ai-sdk/anthropic", model: "claude-sonnet-4-5", want: `"content":[{"type":"text","text":"seen"},{"type":"image"`},
		"image within, OpenAI":      {npm: "@ai-sdk/openai", model: "gpt-5.2", want: `"output":[{"type":"input_text","text":"seen"},{"type":"input_image"`},
		"image within, xAI":         {npm: "@ai-sdk/xai", model: "grok-4", want: `"output":[{"type":"input_text","text":"seen"},{"type":"input_image"`},
		"image within, Nova":        {npm: "@ai-sdk/amazon-bedrock", model: "amazon.nova-pro", want: `"content":[{"text":"seen"},{"image"`},
		"image behind, Llama 3":     {npm: "@ai-sdk/amazon-bedrock", model: "meta.llama3-3", want: `"content":[{"text":"seen"}] … {"image"`},
		"image behind, chat":        {npm: "@ai-sdk/openai-compatible", model: "x", want: `"role":"tool","content":"seen" … "type":"image_url"`},
		"image within, Gemini 3":    {npm: "@ai-sdk/google", model: "gemini-3-pro", want: `"functionResponse": … "parts":[{"inlineData"`},
		"image beside, Gemini 2.5":  {npm: "@ai-sdk/google", model: "gemini-2.5-pro", want: `"functionResponse": … }},{"inlineData"`},
		"stand-in for a signature":  {npm: "@ai-sdk/google", model: "gemini-3-pro", want: `"thoughtSignature":"skip_thought_signature_validator"`},
		"Gemma takes no system":     {npm: "@ai-sdk/google", model: "gemma-3-27b", want: `"contents":[{"role":"user","parts":[{"text":"You are a coding agent.`, without: "systemInstruction"},
		"ChatGPT gets instructions": {npm: "@ai-sdk/openai", model: "gpt-5.2", want: `"instructions":"You are a coding agent.\n\n<env>" … "store":false`},
		// Headers and limits
		"headers at OpenRouter":  {npm: "@openrouter/ai-sdk-provider", model: "x", headers: referer},
		"headers at Vercel":      {npm: "@ai-sdk/gateway", model: "x", headers: referer},
		"headers at ZenMux":      {id: "zenmux", npm: "@ai-sdk/openai-compatible", model: "x", headers: referer},
		"headers at Kilo":        {id: "kilo", npm: "@ai-sdk/openai-compatible", model: "x", headers: referer},
		"headers at Cerebras":    {npm: "@ai-sdk/cerebras", model: "x", headers: map[string]string{"X-Cerebras-3rd-Party-Integration": "tenon"}, want: `"max_tokens"`, without: "max_completion_tokens"},
		"headers at Anthropic":   {npm: "@ai-sdk/anthropic", model: "claude-sonnet-4-5", headers: map[string]string{"x-api-key": "k", "Authorization": "", "anthropic-version": "2023-06-01"}},
		"betas of a mode":        {npm: "@ai-sdk/anthropic", model: "claude-opus-4-6", known: sdk.Model{Headers: map[string]string{"anthropic-beta": "fast-mode"}}, headers: map[string]string{"anthropic-beta": "fast-mode,fine-grained-tool-streaming-2025-05-14,interleaved-thinking-2025-05-14"}},
		"headers at Google":      {npm: "@ai-sdk/google", model: "gemini-3-pro", headers: map[string]string{"x-goog-api-key": "k", "Authorization": ""}},
		"limit of old GPT":       {npm: "@ai-sdk/openai-compatible", model: "gpt-4.1", want: `"max_tokens":32000`},
		"limit of GPT-5":         {npm: "@ai-sdk/openai-compatible", model: "gpt-5.2", want: `"max_completion_tokens":32000`},
		"object, as it was":      {npm: "@ai-sdk/openai-compatible", model: "x", schema: object, want: `"parameters":` + object + ` … "stream_options":{"include_usage":true}`},
		"DeepSeek's empty field": {npm: "@ai-sdk/openai-compatible", model: "deepseek-v4-pro", known: reasons, want: `"reasoning_content":""`},
	}
}

func TestRequestRules(t *testing.T) {
	t.Parallel()
	byProtocol := map[string]string{
		"openai-chat": "chat", "openai-responses": "responses", "anthropic-messages": "anthropic", "gemini": "gemini", "bedrock-converse": "bedrock",
	}
	for name, r := range requestRules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.schema = cmp.Or(r.schema, `{"type":"object","properties":{"a":{"type":"string"}}}`)
			info := sdk.ProviderInfo{ID: cmp.Or(r.id, "test"), NPM: r.npm, Protocol: npmnames.Protocol(r.npm), BaseURL: wiretest.Info().BaseURL, Key: "k"}
			req := r.request(&info)
			sent, body := wiretest.Sent(t, formats()[byProtocol[cmp.Or(req.Model.Protocol, info.Protocol)]], info, req)
			rest := body
			for want := range strings.SplitSeq(r.want, " … ") {
				_, after, found := strings.Cut(rest, want)
				if rest = after; !found {
					t.Fatalf("body lacks %s:\n%s", want, body)
				}
			}
			for none := range strings.SplitSeq(r.without, " … ") {
				if none != "" && strings.Contains(body, none) {
					t.Errorf("body has %s:\n%s", none, body)
				}
			}
			for header, want := range r.headers {
				if got := sent.Header.Get(header); got != want {
					t.Errorf("%s: %q, want %q", header, got, want)
				}
			}
		})
	}
}

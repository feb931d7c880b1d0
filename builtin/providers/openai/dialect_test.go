package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/providers/anthropic"
	"github.com/tenonhq/tenon/builtin/providers/bedrock"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/builtin/providers/openai/chat"
	"github.com/tenonhq/tenon/builtin/providers/openai/responses"
	"github.com/tenonhq/tenon/sdk"
)

// step returns a request after one tool call.
func step(model string) *sdk.ModelRequest {
	req := hello()
	req.Model.ID = model
	req.Messages = append(req.Messages,
		sdk.ModelMessage{Role: sdk.RoleAssistant, Content: []sdk.ModelContent{
			{Type: sdk.ContentReasoning, Text: "hm", Metadata: sdk.Object{"field": "reasoning_text", "opaque": "sealed"}},
			{Type: sdk.ContentToolCall, CallID: "abcdefghi", Tool: "read", Args: json.RawMessage(`{}`)},
		}},
		sdk.ModelMessage{Role: sdk.RoleTool, Content: []sdk.ModelContent{{Type: sdk.ContentToolResult, CallID: "abcdefghi", Tool: "read", Text: "out"}}},
		userText("go on"),
	)
	return req
}

// TestDialects tests what the servers of npm packages need.
func TestDialects(t *testing.T) {
	t.Parallel()
	const mark = `"cache_control":{"type":"ephemeral"}`
	for name, c := range map[string]struct {
		npm, model string
		want       []string
		without    string
	}{
		"openrouter claude": {"@openrouter/ai-sdk-provider", "anthropic/claude-x", []string{`{"role":"system","content":[{"type":"text","text":"Be brief.",` + mark + `}]}`, `"text":"hi",` + mark, `"text":"go on",` + mark}, "prompt_cache_key"},
		"openrouter other":  {"@openrouter/ai-sdk-provider", "openai/gpt-5", nil, "cache_control"},
		"copilot claude":    {"@ai-sdk/github-copilot", "claude-x", []string{`"copilot_cache_control":{"type":"ephemeral"}`, `"reasoning_text":"hm","reasoning_opaque":"sealed"`}, `"cache_control"`},
		"mistral":           {"@ai-sdk/mistral", "mistral-large", []string{`{"role":"assistant","content":"Done."}`, `"tool_call_id":"abcdefghi","name":"read"`, `"prompt_cache_key":"ses_1"`}, "stream_options"},
		"gateway mistral":   {"@openrouter/ai-sdk-provider", "mistralai/devstral-2", []string{`{"role":"assistant","content":"Done."}`, `"tool_call_id":"abcdefghi"`}, "prompt_cache_key"},
		"deepinfra":         {"@ai-sdk/deepinfra", "x", []string{`"prompt_cache_key":"ses_1"`}, "Done."},
		"compatible":        {"@ai-sdk/openai-compatible", "x", []string{"stream_options"}, "prompt_cache_key"},
	} {
		info := wiretest.Info()
		info.NPM = c.npm
		_, body := wiretest.Sent(t, chat.Open, info, step(c.model))
		for _, want := range c.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s: body %s lacks %s", name, body, want)
			}
		}
		if c.without != "" && strings.Contains(body, c.without) {
			t.Errorf("%s: body %s has %s", name, body, c.without)
		}
	}
}

func TestReasoningField(t *testing.T) {
	t.Parallel()
	req := step("deepseek-v4")
	req.Model.ReasoningField = "reasoning_content"
	req.Messages = append(req.Messages, sdk.ModelMessage{Role: sdk.RoleAssistant, Content: []sdk.ModelContent{{Type: sdk.ContentText, Text: "done"}}}, userText("more"))
	_, body := wiretest.Sent(t, chat.Open, wiretest.Info(), req)
	if !strings.Contains(body, `"reasoning_content":"hm"`) || !strings.Contains(body, `"content":"done","reasoning_content":""`) {
		t.Errorf("body %s", body)
	}
}

func TestAzure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base    string
		options sdk.Object
		want    string
	}{
		"resource":   {"", sdk.Object{"resourceName": "r"}, "https://r.openai.azure.com/openai/v1/responses?api-version=v1"},
		"version":    {"https://r.openai.azure.com/openai/v1", sdk.Object{"apiVersion": "2026-01-01"}, "https://r.openai.azure.com/openai/v1/responses?api-version=2026-01-01"},
		"cognitive":  {"https://${AZURE_COGNITIVE_SERVICES_RESOURCE_NAME}.cognitiveservices.azure.com/openai", sdk.Object{"resourceName": "r"}, "https://r.cognitiveservices.azure.com/openai/v1/responses?api-version=v1"},
		"deployment": {"", sdk.Object{"resourceName": "r", "useDeploymentBasedUrls": true}, "https://r.openai.azure.com/openai/deployments/a%2Fb/responses?api-version=v1"},
		"gateway":    {"https://gateway.example/x", nil, "https://gateway.example/x/responses"},
	} {
		info := sdk.ProviderInfo{ID: "azure", NPM: "@ai-sdk/azure", BaseURL: c.base, Options: c.options, Key: "secret-key"}
		req := hello()
		req.Model.ID = "a/b"
		sent, _ := wiretest.Sent(t, responses.Open, info, req)
		if got := sent.URL.String(); got != c.want || sent.Header.Get("api-key") != "secret-key" || sent.Header.Get("Authorization") != "" {
			t.Errorf("%s: %s, headers %v, want %s", name, got, sent.Header, c.want)
		}
	}
}

// TestModelsOfOtherClouds: models in OpenAI's formats at Vertex AI get its credentials, not OpenAI's headers; those at Bedrock need a key.
func TestModelsOfOtherClouds(t *testing.T) {
	t.Parallel()
	info := sdk.ProviderInfo{
		ID: "google-vertex", NPM: "@ai-sdk/openai-compatible", Key: "k", NoKey: true, Options: sdk.Object{"project": "p"},
		BaseURL: "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/endpoints/openapi",
	}
	sent, _ := wiretest.Sent(t, chat.Open, info, hello())
	if h := sent.Header; h.Get("x-goog-api-key") != "k" || h.Get("Authorization") != "" || h.Get("OpenAI-Project") != "" {
		t.Errorf("headers at Vertex AI %v", h)
	}
	info.NoKey = false // the user's own provider
	sent, _ = wiretest.Sent(t, chat.Open, info, hello())
	if h := sent.Header; h.Get("Authorization") != "Bearer k" || h.Get("x-goog-api-key") != "" || h.Get("OpenAI-Project") != "" {
		t.Errorf("headers with a token %v", h)
	}
	info.Key, info.KeyOnly = "", true // a plugin's, with its own sign-in
	info.Authorize = func(context.Context, map[string]string) (map[string]string, error) {
		return map[string]string{"Authorization": "Bearer plugin"}, nil
	}
	if sent, _ := wiretest.Sent(t, chat.Open, info, hello()); sent.Header.Get("Authorization") != "Bearer plugin" {
		t.Errorf("headers with a plugin's sign-in %v", sent.Header)
	}
	info.Key, info.KeyOnly, info.Authorize, info.NoKey = "k", false, nil, true
	info.BaseURL = "https://us-central1-aiplatform.googleapis.com.evil.example/v1"
	if sent, _ := wiretest.Sent(t, chat.Open, info, hello()); sent.Header.Get("x-goog-api-key") != "" {
		t.Errorf("headers elsewhere %v", sent.Header)
	}
}

// TestMantle: requests to OpenAI's models at Bedrock have the key, or are signed with the credentials of the environment.
func TestMantle(t *testing.T) {
	wiretest.AWSCredentials(t)
	info := sdk.ProviderInfo{
		ID: "amazon-bedrock", NPM: "@ai-sdk/amazon-bedrock/mantle", BaseURL: "https://bedrock-mantle.us-west-2.api.aws/v1", Options: sdk.Object{"region": "us-west-2"},
	}
	sent, _ := wiretest.Sent(t, responses.Open, info, hello())
	if got := sent.Header.Get("Authorization"); !strings.HasPrefix(got, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") || !strings.Contains(got, "/us-west-2/bedrock-mantle/aws4_request") {
		t.Errorf("Authorization %q", got)
	}
	info.KeyOnly = true
	if _, err := responses.Open(info, wire.NewTransport(), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "your AWS credentials are not used there") {
		t.Errorf("an address of the project: %v", err)
	}
	info.Key = "k"
	if sent, _ := wiretest.Sent(t, responses.Open, info, hello()); sent.Header.Get("Authorization") != "Bearer k" || sent.URL.Path != "/v1/responses" {
		t.Errorf("sent to %s, headers %v", sent.URL, sent.Header)
	}
	info.Key, info.Headers = "", map[string]string{"Authorization": "Bearer own"}
	if sent, _ := wiretest.Sent(t, responses.Open, info, hello()); sent.Header.Get("Authorization") != "Bearer own" {
		t.Errorf("headers %v, want the user's own", sent.Header)
	}
}

// TestResourceNamesNoHost: the resource becomes part of the host, but cannot name another one.
func TestResourceNamesNoHost(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"My-Resource-1": true, "evil.example/": false, "evil.example#": false, "u@evil.example:443": false} {
		info := sdk.ProviderInfo{ID: "a", NPM: "@ai-sdk/azure", Key: "secret-key", Options: sdk.Object{"resourceName": name}}
		_, err := responses.Open(info, wire.NewTransport(), slog.New(slog.DiscardHandler))
		if want := "options.resourceName is " + name; (err == nil) != ok || !ok && !strings.Contains(err.Error(), want) {
			t.Errorf("Open = %v, want %q", err, want)
		}
	}
}

func TestCopilotHeaders(t *testing.T) {
	t.Parallel()
	info := wiretest.Info()
	info.NPM, info.Key = "@ai-sdk/github-copilot", "secret-key"
	sent, _ := wiretest.Sent(t, chat.Open, info, step("gpt-5-mini"))
	if h := sent.Header; h.Get("X-Initiator") != "user" || h.Get("Openai-Intent") != "conversation-edits" || h.Get("Authorization") != "Bearer secret-key" || h.Get("Copilot-Vision-Request") != "" {
		t.Errorf("headers %v", h)
	}
	req := step("gpt-5-mini")
	req.Step = 2 // the last message is not the user's
	if sent, _ := wiretest.Sent(t, chat.Open, info, req); sent.Header.Get("X-Initiator") != "agent" {
		t.Errorf("headers of a later step %v", sent.Header)
	}
	req = step("gpt-5-mini")
	req.Messages = req.Messages[:3]
	req.Messages[2].Content[0].Files = []*sdk.FilePart{{Mime: "image/png", URL: "data:image/png;base64,QQ=="}}
	if sent, _ := wiretest.Sent(t, chat.Open, info, req); sent.Header.Get("X-Initiator") != "agent" || sent.Header.Get("Copilot-Vision-Request") != "true" {
		t.Errorf("headers after a tool %v", sent.Header)
	}
}

// TestNamesOfCalls: a name that no server accepts and a long ID, as other models wrote them, are changed in the same way at both places.
func TestNamesOfCalls(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 80)
	req := step("gpt-5")
	for i, at := range []int{1, 2} {
		c := &req.Messages[len(req.Messages)-4+at].Content
		call := &(*c)[len(*c)-1]
		call.CallID, call.Tool = long, "multi_tool.read"
		if i == 0 && call.Type != sdk.ContentToolCall {
			t.Fatal("not a call")
		}
	}
	info := sdk.ProviderInfo{ID: "openai", NPM: "@ai-sdk/openai", BaseURL: "https://api.openai.com/v1", Key: "k"}
	for name, open := range map[string]wiretest.Open{"chat": chat.Open, "responses": responses.Open} {
		_, body := wiretest.Sent(t, open, info, req)
		if strings.Contains(body, long) || strings.Count(body, strings.Repeat("x", 51)+"_") != 2 || !strings.Contains(body, `"multi_tool_read"`) {
			t.Errorf("%s: body %s, want one short ID twice and a valid name", name, body)
		}
	}
}

// TestCopilotModels: the listing says which models users can choose, and their limits, inputs, reasoning and formats.
func TestCopilotModels(t *testing.T) {
	t.Parallel()
	const body = `{"data": [
		{"id": "claude-x", "capabilities": {"type": "chat", "limits": {"max_context_window_tokens": 200000, "max_prompt_tokens": 128000, "max_output_tokens": 64000, "vision": {"supported_media_types": ["image/png", "application/pdf"]}},
			"supports": {"tool_calls": true, "vision": true, "min_thinking_budget": 1024, "max_thinking_budget": 32000}}, "model_picker_enabled": true, "supported_endpoints": ["/chat/completions", "/v1/messages"]},
		{"id": "gpt-y", "supported_endpoints": ["/responses"], "capabilities": {"supports": {"vision": false, "reasoning_effort": ["low", "high"]}}}, {"id": "old"},
		{"id": "gpt-z", "supported_endpoints": ["/chat/completions", "/responses"], "policy": {"state": "enabled"}, "capabilities": {"supports": {"tool_calls": false}}},
		{"id": "off", "policy": {"state": "disabled"}}, {"id": "hidden", "model_picker_enabled": false}, {"id": "e", "capabilities": {"type": "embeddings"}}
	]}`
	info := wiretest.Info()
	info.NPM = "@ai-sdk/github-copilot"
	c, err := chat.Open(info, wiretest.Transport(http.StatusOK, []byte(body), nil), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	models, err := c.(sdk.ModelLister).ListModels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	low, high := "low", "high"
	model := sdk.Model{ProviderID: "test", ToolCall: true, Temperature: true}
	want := []sdk.Model{model, model, model, model}
	want[0].ID, want[0].Protocol, want[0].Limit = "claude-x", "anthropic-messages", sdk.ModelLimit{Context: 200_000, Input: 128_000, Output: 64_000}
	want[0].Modalities.Input, want[0].Attachment = []string{"text", "image", "pdf"}, true
	want[0].Reasoning, want[0].ReasoningOptions = true, []sdk.ReasoningOption{{Type: "budget_tokens", Min: 1024, Max: 32_000}}
	want[1].ID, want[1].Protocol, want[1].Modalities.Input = "gpt-y", "openai-responses", []string{"text"}
	want[1].Reasoning, want[1].ReasoningOptions = true, []sdk.ReasoningOption{{Type: "effort", Values: []*string{&low, &high}}}
	want[2].ID = "old"
	want[3].ID, want[3].Protocol, want[3].ToolCall = "gpt-z", "openai-responses", false
	for i := range want {
		want[i].Name = want[i].ID
	}
	if diff := cmp.Diff(want, models); diff != "" {
		t.Error(diff)
	}
}

// TestCopilotEnterprise: all formats of Copilot are at the address of GitHub Enterprise.
func TestCopilotEnterprise(t *testing.T) {
	t.Parallel()
	for path, open := range map[string]wiretest.Open{"/chat/completions": chat.Open, "/responses": responses.Open, "/v1/messages": anthropic.Open} {
		for _, domain := range []string{"corp.example", "https://corp.example/"} {
			info := sdk.ProviderInfo{ID: "github-copilot", NPM: "@ai-sdk/github-copilot", BaseURL: "https://api.githubcopilot.com", Key: "k", Options: sdk.Object{"enterpriseUrl": domain}}
			sent, _ := wiretest.Sent(t, open, info, hello())
			if got, want := sent.URL.String(), "https://copilot-api.corp.example"+path; got != want || sent.Header.Get("Authorization") != "Bearer k" {
				t.Errorf("sent to %s, want %s", got, want)
			}
		}
	}
}

func TestToolSchemas(t *testing.T) {
	t.Parallel()
	const schema = `{"$schema":"x","type":"object","additionalProperties":false,"properties":{"a":{"const":1},"b":{"type":"array"},"c":{"$ref":"#/x","title":"t"},"d":{"type":"array","items":[{"type":"string"}]}}}`
	for name, c := range map[string]struct {
		npm, model, want string
	}{
		"openai": {"@ai-sdk/openai", "gpt-5", `{"additionalProperties":false,"properties":{"a":{"enum":[1]},"b":{"items":{"type":"string"},"type":"array"},"c":{"$ref":"#/x"},"d":{"items":[{"type":"string"}],"type":"array"}},"type":"object"}`},
		"gpt":    {"@openrouter/ai-sdk-provider", "openai/gpt-4.1", `"b":{"items":{"type":"string"},"type":"array"},"c":{"$ref":"#/x","title":"t"}`},
		"o4":     {"@ai-sdk/github-copilot", "o4-mini", `"b":{"items":{"type":"string"},"type":"array"},"c":{"$ref":"#/x","title":"t"}`},
		"kimi":   {"@ai-sdk/openai-compatible", "kimi-k2", `"c":{"$ref":"#/x"},"d":{"items":{"type":"string"},"type":"array"}`},
		"xai":    {"@ai-sdk/xai", "grok", `{"$schema":"x","properties"`},
		"other":  {"@ai-sdk/groq", "x", schema},
	} {
		info := wiretest.Info()
		info.NPM = c.npm
		req := hello()
		req.Model.ID = c.model
		req.Tools[0].Parameters = json.RawMessage(schema)
		if _, body := wiretest.Sent(t, responses.Open, info, req); !strings.Contains(body, c.want) {
			t.Errorf("%s: body %s lacks %s", name, body, c.want)
		}
	}
}

// TestDefinitions: OpenAI's servers refuse a reference whose target is missing.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	const schema = `{"definitions":{"x":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/x"}},"type":"object"}`
	info, req := wiretest.Info(), hello()
	info.NPM, req.Tools[0].Parameters = "@ai-sdk/openai", json.RawMessage(schema)
	if _, body := wiretest.Sent(t, responses.Open, info, req); !strings.Contains(body, schema) {
		t.Errorf("body %s lacks %s", body, schema)
	}
	const only = `{"$defs":{"x":{"type":"object"}},"$ref":"#/$defs/x"}`
	req.Model.ID, req.Tools[0].Parameters = "kimi-k2", json.RawMessage(`{"type":"object",`+only[1:])
	info.NPM = "@ai-sdk/openai-compatible"
	if _, body := wiretest.Sent(t, responses.Open, info, req); !strings.Contains(body, only) {
		t.Errorf("body %s lacks %s", body, only)
	}
}

// TestNoArguments: servers demand the properties of a tool without arguments, which MCP servers leave out.
func TestNoArguments(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object"}`:                   `{"properties":{},"type":"object"}`,
		`{}`:                                  `{"properties":{},"type":"object"}`,
		`{"type":"object","properties":null}`: `{"properties":{},"type":"object"}`,
		`{"type":"object","additionalProperties":false}`: `{"additionalProperties":false,"properties":{},"type":"object"}`,
	} {
		for _, npm := range []string{"@ai-sdk/openai-compatible", "@ai-sdk/github-copilot", "@ai-sdk/openai"} {
			for name, open := range map[string]wiretest.Open{"chat": chat.Open, "responses": responses.Open} {
				info, req := wiretest.Info(), hello()
				info.NPM, req.Tools[0].Parameters = npm, json.RawMessage(schema)
				if _, body := wiretest.Sent(t, open, info, req); !strings.Contains(body, `"parameters":`+want) {
					t.Errorf("%s, %s: body %s lacks %s", npm, name, body, want)
				}
			}
		}
	}
}

func TestBlankTexts(t *testing.T) {
	t.Parallel()
	blankTexts(t, chat.Open, "claude-x")
	blankTexts(t, anthropic.Open, "claude-sonnet-4-5")
	blankTexts(t, bedrock.Open, "amazon.nova-pro-v1:0")
}

// TestInterruptedAnswer: an answer that was interrupted while the model reasoned is left out, and the prompts around it become one.
func TestInterruptedAnswer(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Model.ReasoningField = "reasoning_content"
	thought := sdk.ModelContent{Type: sdk.ContentReasoning, Text: "hm", Metadata: sdk.Object{"field": "reasoning_content"}}
	req.Messages = append(req.Messages, sdk.ModelMessage{Role: sdk.RoleAssistant, Content: []sdk.ModelContent{thought}}, userText("go on"))
	if _, body := wiretest.Sent(t, chat.Open, wiretest.Info(), req); !strings.Contains(body, `{"role":"user","content":"hi\n\ngo on"}]`) || strings.Contains(body, "assistant") {
		t.Errorf("body %s", body)
	}
	req.Model.Attachment = true
	image := sdk.ModelContent{Type: sdk.ContentFile, Mime: "image/png", URL: "data:image/png;base64,QQ=="}
	req.Messages = append(req.Messages, sdk.ModelMessage{Role: sdk.RoleUser, Content: []sdk.ModelContent{image}})
	want := `{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"go on"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QQ=="}}]}]`
	if _, body := wiretest.Sent(t, chat.Open, wiretest.Info(), req); !strings.Contains(body, want) {
		t.Errorf("body %s, want %s", body, want)
	}
}

// TestReasoningWithoutItsItem: OpenAI refuses reasoning that led to nothing, such as that of an interrupted answer.
func TestReasoningWithoutItsItem(t *testing.T) {
	t.Parallel()
	sealed := func(id string) sdk.ModelContent {
		return sdk.ModelContent{Type: sdk.ContentReasoning, Metadata: sdk.Object{"itemID": id, "encrypted": "sealed"}}
	}
	req := hello()
	req.Messages = append(req.Messages,
		sdk.ModelMessage{Role: sdk.RoleAssistant, Content: []sdk.ModelContent{sealed("rs_1"), {Type: sdk.ContentText, Text: "x"}, sealed("rs_2"), sealed("rs_3")}},
		userText("go on"), sdk.ModelMessage{Role: sdk.RoleAssistant, Content: []sdk.ModelContent{sealed("rs_4")}}, userText("go on"))
	_, body := wiretest.Sent(t, responses.Open, wiretest.Info(), req)
	if strings.Count(body, `"type":"reasoning"`) != 1 || !strings.Contains(body, "rs_1") {
		t.Errorf("body %s", body)
	}
}

func TestForced(t *testing.T) {
	t.Parallel()
	forced(t, chat.Open, "deepseek-v4-flash", nil, `"tool_choice":"required"`)
	forced(t, anthropic.Open, "claude-sonnet-5", sdk.Object{"thinking": sdk.Object{"type": "adaptive"}}, `"tool_choice":{"type":"any"}`)
	budget := sdk.Object{"reasoningConfig": sdk.Object{"type": "enabled", "budgetTokens": 4000.0}}
	forced(t, bedrock.Open, "anthropic.claude-sonnet-4", budget, `"toolChoice":{"any":{}}`)
	info, req := wiretest.Info(), hello()
	info.BaseURL, req.Model.ID, req.Model.Reasoning, req.ToolChoice = "https://api.openai.com/v1", "gpt-5", true, sdk.ToolChoiceRequired
	if _, body := wiretest.Sent(t, responses.Open, info, req); !strings.Contains(body, `"tool_choice":"required"`) {
		t.Errorf("OpenAI's models can be forced: %s", body)
	}
}

// Models of OpenAI refuse the same parameters behind other addresses, even if no catalog describes them, and their reasoning is sent back there, too.
func TestOpenAIModelsBehindGateways(t *testing.T) {
	t.Parallel()
	for protocol, open := range map[string]wiretest.Open{openai.ProtocolChat: chat.Open, openai.ProtocolResponses: responses.Open} {
		for model, c := range map[string]struct{ refuses, encrypts bool }{
			"gpt-5": {true, true}, "openai/gpt-6.1-sol": {true, true}, "gpt-5.3-chat-latest": {true, false}, "gpt-oss-120b": {false, false},
		} {
			req := hello()
			req.Model.ID, req.Params.Temperature = model, new(0.5)
			_, body := wiretest.Sent(t, open, wiretest.Info(), req)
			if strings.Contains(body, "temperature") == c.refuses {
				t.Errorf("%s, %s refuses a temperature: %v; body %s", protocol, model, c.refuses, body)
			}
			if protocol == openai.ProtocolResponses && strings.Contains(body, "reasoning.encrypted_content") != c.encrypts {
				t.Errorf("%s encrypts its reasoning: %v; body %s", model, c.encrypts, body)
			}
		}
	}
}

// blankTexts tests that a request has no text of white space alone: models write such texts, tools return them, and servers refuse all later
// requests with them.
func blankTexts(t *testing.T, open wiretest.Open, model string) {
	t.Helper()
	req := hello()
	req.Model.ID = model
	said := func(role string, contents ...sdk.ModelContent) {
		req.Messages = append(req.Messages, sdk.ModelMessage{Role: role, Content: contents})
	}
	blank := sdk.ModelContent{Type: sdk.ContentText, Text: " \n\n"}
	said(sdk.RoleAssistant, blank)
	said(sdk.RoleUser, blank, sdk.ModelContent{Type: sdk.ContentText, Text: "go on"})
	said(sdk.RoleAssistant, blank, sdk.ModelContent{Type: sdk.ContentToolCall, CallID: "call_1", Tool: "read"})
	said(sdk.RoleTool, sdk.ModelContent{Type: sdk.ContentToolResult, CallID: "call_1", Tool: "read", Text: "\n"})
	_, body := wiretest.Sent(t, open, keyed(), req)
	if found := regexp.MustCompile(`"(\s|\\n)+"`).FindString(body); found != "" || !strings.Contains(body, "(no output)") {
		t.Errorf("blank text %s in %s", found, body)
	}
}

// forced tests that a request demands a call of a tool, unless the model reasons: most servers refuse that.
func forced(t *testing.T, open wiretest.Open, model string, reasons sdk.Object, demand string) {
	t.Helper()
	req := hello()
	req.Model.ID, req.ToolChoice, req.Params.Options = model, sdk.ToolChoiceRequired, sdk.Object{}
	if _, body := wiretest.Sent(t, open, keyed(), req); !strings.Contains(body, demand) {
		t.Errorf("body %s lacks %s", body, demand)
	}
	req.Model.Reasoning, req.Params.Options = true, reasons
	if _, body := wiretest.Sent(t, open, keyed(), req); strings.Contains(body, demand) {
		t.Errorf("body %s has %s", body, demand)
	}
}

func keyed() sdk.ProviderInfo {
	info := wiretest.Info()
	info.Key = "secret-key"
	return info
}

// The server for users of ChatGPT refuses an output limit, needs the session in a header to find its cache, and lists models only for Codex.
func TestChatGPT(t *testing.T) {
	t.Parallel()
	info, req := wiretest.Info(), hello()
	info.BaseURL, req.SessionID, req.Params.MaxOutputTokens = "https://chatgpt.com/backend-api/codex", "ses_1", 1000
	sent, body := wiretest.Sent(t, responses.Open, info, req)
	if sent.Header.Get("Session-Id") != "ses_1" || strings.Contains(body, "max_output_tokens") {
		t.Errorf("headers %v, body %s", sent.Header, body)
	}
	if _, err := open(t, openai.ProtocolResponses, info).(sdk.ModelLister).ListModels(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("ListModels() = %v, want ErrUnsupported", err)
	}
}

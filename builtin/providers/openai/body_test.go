package openai_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/sdk"
)

const (
	png = "data:image/png;base64,iVBORw0KGgo="
	pdf = "data:application/pdf;base64,JVBERi0="
)

type bodyCase struct {
	info sdk.ProviderInfo
	req  *sdk.ModelRequest
}

func text(s string) sdk.ModelContent { return sdk.ModelContent{Type: sdk.ContentText, Text: s} }

func file(mime, name, url string) sdk.ModelContent {
	return sdk.ModelContent{Type: sdk.ContentFile, Mime: mime, Filename: name, URL: url}
}

func reasoning(s string, metadata sdk.Object) sdk.ModelContent {
	return sdk.ModelContent{Type: sdk.ContentReasoning, Text: s, Metadata: metadata}
}

func toolCall(id, tool, args string) sdk.ModelContent {
	return sdk.ModelContent{Type: sdk.ContentToolCall, CallID: id, Tool: tool, Args: json.RawMessage(args)}
}

func toolResult(id, tool, output string, files ...*sdk.FilePart) sdk.ModelContent {
	return sdk.ModelContent{Type: sdk.ContentToolResult, CallID: id, Tool: tool, Text: output, Files: files}
}

func message(role string, contents ...sdk.ModelContent) sdk.ModelMessage {
	return sdk.ModelMessage{Role: role, Content: contents}
}

func bodyCases() map[string]bodyCase {
	temperature, topP := 0.5, 0.9
	multi := hello()
	multi.System = []string{"Be brief.", "Today is Monday."}
	multi.ToolChoice = sdk.ToolChoiceRequired
	multi.Tools = append(multi.Tools, sdk.ToolDefinition{ID: "now"})
	multi.Model.APIID = "vendor/fake"
	multi.Params = sdk.ChatParams{Temperature: &temperature, TopP: &topP, MaxOutputTokens: 1000}

	files := hello()
	files.Messages = []sdk.ModelMessage{
		message(sdk.RoleUser, text("look <at> these & say"), file("image/png", "a.png", png), file("image/jpeg", "", "data:image/jpeg;base64,/9j/"),
			file("application/pdf", "c.pdf", pdf), file("audio/mpeg", "d.mp3", "data:audio/mpeg;base64,SUQz")),
	}

	loop := hello()
	loop.Model.Reasoning = true
	details := []any{map[string]any{"type": "reasoning.text", "text": "deep", "signature": "sig", "index": 0.0}}
	signed := toolCall("c3", "read", `{"filePath":"z"}`)
	signed.Metadata = sdk.Object{"extra_content": map[string]any{"google": map[string]any{"thought_signature": "sig"}}}
	loop.Messages = []sdk.ModelMessage{
		userText("first"),
		message(sdk.RoleAssistant, reasoning("old thoughts", sdk.Object{"field": "reasoning_content"}), text("old answer")),
		userText("second"),
		message(sdk.RoleAssistant, reasoning("thoughts", sdk.Object{"field": "reasoning_content"}), text("I look."),
			toolCall("c1", "read", `{"filePath":"x"}`), toolCall("c2", "read", `{"filePath":"y"}`)),
		message(sdk.RoleTool, toolResult("c1", "read", "one"), toolResult("c2", "read", "", &sdk.FilePart{Mime: "image/png", Filename: "s.png", URL: png})),
		message(sdk.RoleAssistant, reasoning("deep", sdk.Object{"field": "reasoning_details", "details": details}), signed),
		message(sdk.RoleTool, toolResult("c3", "read", "three")),
		message(sdk.RoleAssistant, reasoning("sealed thoughts", sdk.Object{"itemID": "rs_1", "encrypted": "gAAAA"}), reasoning("", sdk.Object{"itemID": "rs_2", "encrypted": "gBBBB"}),
			sdk.ModelContent{Type: sdk.ContentText, Text: "done so far", Metadata: sdk.Object{"phase": "commentary"}}),
		message(sdk.RoleAssistant),
		userText("go on"),
		message(sdk.RoleAssistant, reasoning("now", sdk.Object{"field": "reasoning_content"}), toolCall("c4", "now", "")),
		message(sdk.RoleTool, toolResult("c4", "now", "noon")),
	}

	options := hello()
	options.Params.MaxOutputTokens = 10
	options.Params.Options = sdk.Object{
		"reasoningEffort": "high", "textVerbosity": "low", "top_k": 5.0, "stream_options": map[string]any{"x": true},
		"store": nil, "parallelToolCalls": false, "reasoning": map[string]any{"summary": "auto"}, "serviceTier": "flex", "service_tier": "priority",
	}
	limited := hello()
	limited.Model.ID, limited.Params.MaxOutputTokens = "openai/gpt-5-mini", 10
	plainProvider := sdk.ProviderInfo{ID: "test", BaseURL: "http://127.0.0.1:1/v1"}
	official := sdk.ProviderInfo{ID: "openai", BaseURL: "https://api.openai.com/v1"}
	strict := sdk.ProviderInfo{ID: "mistral", NPM: "@ai-sdk/mistral", BaseURL: "http://127.0.0.1:1/v1", Options: sdk.Object{
		"includeUsage": false, "reasoningField": "reasoning", "setCacheKey": true,
	}}
	return map[string]bodyCase{
		"hello": {plainProvider, hello()}, "multi": {plainProvider, multi}, "files": {plainProvider, files},
		"loop": {plainProvider, loop}, "options": {plainProvider, options},
		"openai": {official, limited}, "limited": {plainProvider, limited}, "strict": {strict, loop},
	}
}

func TestRequestBodies(t *testing.T) {
	t.Parallel()
	for name, c := range bodyCases() {
		for _, protocol := range []string{openai.ProtocolChat, openai.ProtocolResponses} {
			t.Run(name+"/"+protocol, func(t *testing.T) {
				t.Parallel()
				before, _ := json.Marshal(c.req)
				got, err := openai.EncodeBodyFor(c.info, protocol, c.req)
				if err != nil {
					t.Fatal(err)
				}
				var pretty bytes.Buffer
				if err := json.Indent(&pretty, got, "", "  "); err != nil {
					t.Fatalf("not JSON: %v\n%s", err, got)
				}
				pretty.WriteByte('\n')
				if after, _ := json.Marshal(c.req); !bytes.Equal(before, after) {
					t.Error("the request was changed")
				}
				golden(t, filepath.Join("testdata", name+"."+protocol+".golden"), pretty.Bytes())
			})
		}
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got); -update accepts it:\n%s", path, diff)
	}
}

func TestRequestThatCannotBeEncoded(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Tools[0].Parameters = json.RawMessage(`{"type":`)
	for _, protocol := range []string{openai.ProtocolChat, openai.ProtocolResponses} {
		_, err := openai.EncodeBody(protocol, req)
		if err == nil || !strings.Contains(err.Error(), "tools") {
			t.Errorf("%s: error %v, want one that names tools", protocol, err)
		}
	}
}

package bedrock_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/providers/bedrock"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// frame encodes an event. A kind that ends in Exception becomes an exception.
func frame(kind, payload string) string {
	m := eventstream.Message{Payload: []byte(payload)}
	if strings.HasSuffix(kind, "Exception") {
		m.Headers.Set(":message-type", eventstream.StringValue("exception"))
		m.Headers.Set(":exception-type", eventstream.StringValue(kind))
	} else {
		m.Headers.Set(":message-type", eventstream.StringValue("event"))
		m.Headers.Set(":event-type", eventstream.StringValue(kind))
	}
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
		panic(err)
	}
	return out.String()
}

func text(s string) string {
	return frame("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"`+s+`"},"p":"abc"}`)
}

func info() sdk.ProviderInfo {
	i := wiretest.Info()
	i.Key = "secret-key"
	return i
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(text("hi") + frame("messageStop", `{"stopReason":"end_turn"}`)))
	f.Add([]byte(frame("contentBlockDelta", `{"delta":{"reasoningContent":{"signature":"s"}}}`) + frame("contentBlockStop", `{}`) + frame("throttlingException", `{"message":"slow"}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := wiretest.Decode(t.Context(), bedrock.Open, info(), wiretest.Hello(), data)
		wiretest.CheckRules(t, events, err)
	})
}

func TestExceptions(t *testing.T) {
	t.Parallel()
	for kind, status := range map[string]int{
		"throttlingException": http.StatusTooManyRequests, "validationException": http.StatusBadRequest, "modelStreamErrorException": http.StatusInternalServerError,
	} {
		for _, begin := range []string{text("a"), text("a") + frame("messageStop", `{"stopReason":"end_turn"}`)} {
			var failed *sdk.ProviderError
			_, err := wiretest.Decode(t.Context(), bedrock.Open, info(), wiretest.Hello(), []byte(begin+frame(kind, `{"message":"no"}`)))
			if !errors.As(err, &failed) || failed.StatusCode != status || failed.Code != kind || failed.Message != "no" {
				t.Errorf("%s after %q: %+v", kind, begin, failed)
			}
		}
	}
}

func TestUnknownEvent(t *testing.T) {
	t.Parallel()
	answer := frame("news", `{"contentBlockIndex":"first"}`) + text("a") + frame("messageStop", `{"stopReason":"end_turn"}`)
	events, err := wiretest.Decode(t.Context(), bedrock.Open, info(), wiretest.Hello(), []byte(answer))
	if err != nil || len(events) != 2 || events[0].Text != "a" {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	req := wiretest.Hello()
	req.Model = sdk.Model{ID: "anthropic.claude-sonnet-4-20250514-v1:0", ProviderID: "test", Limit: sdk.ModelLimit{Output: 64_000}}
	temperature := 0.5
	req.Params = sdk.ChatParams{MaxOutputTokens: 1000, Temperature: &temperature, Options: sdk.Object{"reasoningConfig": sdk.Object{"type": "enabled", "budgetTokens": 4000.0}}}
	req.Messages = append(req.Messages,
		sdk.ModelMessage{Role: sdk.RoleAssistant, Content: []sdk.ModelContent{
			{Type: sdk.ContentReasoning, Text: "hm", Metadata: sdk.Object{"signature": "sig"}},
			{Type: sdk.ContentReasoning, Text: "unsigned"},
			{Type: sdk.ContentToolCall, CallID: "call/1", Tool: "read", Args: json.RawMessage(`{"a":1}`)},
		}},
		sdk.ModelMessage{Role: sdk.RoleTool, Content: []sdk.ModelContent{{
			Type: sdk.ContentToolResult, CallID: "call/1", Tool: "read", Text: "no", IsError: true, Files: []*sdk.FilePart{{Mime: "image/png", URL: "data:image/png;base64,QQ=="}},
		}}},
	)
	sent, body := wiretest.Sent(t, bedrock.Open, info(), req)
	if sent.URL.EscapedPath() != "/v1/model/us.anthropic.claude-sonnet-4-20250514-v1%3A0/converse-stream" || sent.Header.Get("Authorization") != "Bearer secret-key" {
		t.Errorf("URL %s, headers %v", sent.URL, sent.Header)
	}
	want := `{"system":[{"text":"Be brief."},{"cachePoint":{"type":"default"}}],"messages":[{"role":"user","content":[{"text":"hi"},{"cachePoint":{"type":"default"}}]},` +
		`{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"sig"}}},{"toolUse":{"toolUseId":"call_1","name":"read","input":{"a":1}}}]},` +
		`{"role":"user","content":[{"toolResult":{"toolUseId":"call_1","content":[{"text":"no"},{"image":{"format":"png","source":{"bytes":"QQ=="}}}],"status":"error"}},{"cachePoint":{"type":"default"}}]}],` +
		`"inferenceConfig":{"maxTokens":5000},"toolConfig":{"tools":[{"toolSpec":{"description":"Reads a file.","inputSchema":{"json":{"properties":{},"type":"object"}},"name":"read"}}]},` +
		`"additionalModelRequestFields":{"thinking":{"budget_tokens":4000,"type":"enabled"}}}`
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
	noChoice, noTools := *req, *req // neither has a toolConfig, without which the server refuses calls and results
	noChoice.ToolChoice, noTools.Tools = sdk.ToolChoiceNone, nil
	for _, req := range []*sdk.ModelRequest{&noChoice, &noTools} {
		if _, body := wiretest.Sent(t, bedrock.Open, info(), req); strings.Contains(body, "tool") || !strings.Contains(body, `[called read {\"a\":1}]`) {
			t.Errorf("without tools: %s", body)
		}
	}
}

func TestModelIDs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"us-west-2 anthropic.claude-x":                   "us.anthropic.claude-x",
		"us-gov-west-1 anthropic.claude-x":               "anthropic.claude-x",
		"us-east-1 openai.gpt-oss-120b":                  "openai.gpt-oss-120b",
		"us-east-1 global.anthropic.claude-x":            "global.anthropic.claude-x",
		"eu-west-1 amazon.nova-lite-v1:0":                "eu.amazon.nova-lite-v1:0",
		"eu-south-9 anthropic.claude-x":                  "anthropic.claude-x",
		"ap-northeast-1 anthropic.claude-x":              "jp.anthropic.claude-x",
		"ap-southeast-2 anthropic.claude-haiku-4-5":      "au.anthropic.claude-haiku-4-5",
		"ap-south-1 amazon.nova-pro-v1:0":                "apac.amazon.nova-pro-v1:0",
		"us-east-1 arn:aws:bedrock:us-east-1:1:x/claude": "arn:aws:bedrock:us-east-1:1:x/claude",
	} {
		region, model, _ := strings.Cut(in, " ")
		if got := bedrock.InferenceID(model, region); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestRegionNamesNoHost: the region becomes part of the host, but cannot name another one.
func TestRegionNamesNoHost(t *testing.T) {
	t.Parallel()
	for _, region := range []string{"x.evil.example/", "evil.example#", "u@evil.example:443", "EU"} {
		info := sdk.ProviderInfo{ID: "b", Key: "secret-key", Options: sdk.Object{"region": region}}
		_, err := bedrock.Open(info, wire.NewTransport(), slog.New(slog.DiscardHandler))
		if want := "options.region is " + region; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Open = %v, want %q", err, want)
		}
	}
}

// TestKeyOnly: requests to an address that a project chose are not signed with the user's credentials.
func TestKeyOnly(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"": "your AWS credentials are not used there", "key-of-the-project": ""} {
		info := sdk.ProviderInfo{ID: "b", Key: key, KeyOnly: true, BaseURL: "https://evil.example"}
		_, err := bedrock.Open(info, wire.NewTransport(), slog.New(slog.DiscardHandler))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Open with the key %q = %v, want %q", key, err, want)
		}
	}
}

// TestSignedRequest: without a key, the request is signed with the credentials of the environment.
func TestSignedRequest(t *testing.T) {
	wiretest.AWSCredentials(t)
	i := wiretest.Info()
	i.Options = sdk.Object{"region": "eu-west-1"}
	sent, _ := wiretest.Sent(t, bedrock.Open, i, wiretest.Hello())
	if got := sent.Header.Get("Authorization"); !strings.HasPrefix(got, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") || !strings.Contains(got, "/eu-west-1/bedrock/aws4_request") {
		t.Errorf("Authorization %q", got)
	}
}

// Only Claude's limits are known.
func TestOversizedImage(t *testing.T) {
	t.Parallel()
	req := wiretest.Hello()
	req.Messages[0].Content = append(req.Messages[0].Content, sdk.ModelContent{Type: sdk.ContentFile, Mime: "image/png", URL: "data:image/png;base64," + strings.Repeat("QUFB", 2<<20)})
	req.Tools[0].Parameters = []byte(`{"type":"object","properties":{"$top":{}}}`) // a name that Claude does not accept
	for model, refused := range map[string]bool{"anthropic.claude-sonnet-4": true, "amazon.nova-pro-v1:0": false} {
		req.Model.ID = model
		_, body := wiretest.Sent(t, bedrock.Open, info(), req)
		if strings.Contains(body, "more than 5 MiB in base64") != refused || (len(body) < 8<<20) != refused || strings.Contains(body, `"properties":{"$top":{}}`) == refused {
			t.Errorf("%s: the body has %d bytes, with the tool %s", model, len(body), body[max(0, len(body)-200):])
		}
	}
}

// TestDocuments: the server refuses a request in which the name of a document repeats.
func TestDocuments(t *testing.T) {
	t.Parallel()
	req := wiretest.Hello()
	req.Model.ID, req.Model.Modalities.Input = "anthropic.claude-sonnet-4", []string{"text", "pdf"}
	pdf := "data:application/pdf;base64,QQ=="
	attached := sdk.ModelContent{Type: sdk.ContentFile, Mime: "application/pdf", URL: pdf}
	result := sdk.ModelContent{Type: sdk.ContentToolResult, CallID: "c", Tool: "read", Files: []*sdk.FilePart{{Mime: "application/pdf", URL: pdf}}}
	req.Messages = append(req.Messages,
		sdk.ModelMessage{Role: sdk.RoleUser, Content: []sdk.ModelContent{attached, attached}},
		sdk.ModelMessage{Role: sdk.RoleAssistant, Content: []sdk.ModelContent{{Type: sdk.ContentToolCall, CallID: "c", Tool: "read"}}},
		sdk.ModelMessage{Role: sdk.RoleTool, Content: []sdk.ModelContent{result, result}},
		sdk.ModelMessage{Role: sdk.RoleUser, Content: []sdk.ModelContent{attached}},
	)
	_, body := wiretest.Sent(t, bedrock.Open, info(), req)
	for i := 1; i <= 5; i++ {
		if name := fmt.Sprintf(`"name":"document-%d"`, i); strings.Count(body, name) != 1 {
			t.Errorf("%s is %d times in %s", name, strings.Count(body, name), body)
		}
	}
}

// TestARN: the ARN of an inference profile may lack the name of the family, which the configuration has.
func TestARN(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:bedrock:us-east-1:1:application-inference-profile/x1"
	for want, models := range map[int][]sdk.Model{
		2: {{ID: "Claude-prod", APIID: arn}, {ID: arn, Family: "claude-sonnet"}},
		0: {{ID: arn, Family: "nova-pro"}},
	} {
		for i := range models {
			req := wiretest.Hello()
			req.Model = models[i]
			sent, body := wiretest.Sent(t, bedrock.Open, info(), req)
			if got := strings.Count(body, "cachePoint"); got != want || !strings.Contains(sent.URL.Path, arn) {
				t.Errorf("%+v: %d marks for the cache, want %d: %s", models[i], got, want, body)
			}
		}
	}
}

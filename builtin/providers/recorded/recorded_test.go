// Package recorded_test reads recorded answers of real servers with every wire format. testdata/README.md names their sources.
package recorded_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/providers/anthropic"
	"github.com/tenonhq/tenon/builtin/providers/bedrock"
	"github.com/tenonhq/tenon/builtin/providers/gemini"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	"github.com/tenonhq/tenon/builtin/providers/openai/chat"
	"github.com/tenonhq/tenon/builtin/providers/openai/responses"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conversation is a line of the recordings.
type conversation struct {
	ID, Provider, Protocol, Model string
	Steps                         []step
}

type step struct {
	Status         int
	Headers        map[string]string
	Body, Encoding string
	Expect         expectation
}

// expectation is the result that a correct client produces for a step.
type expectation struct {
	Text, Reasoning string
	Tools           []struct {
		ID, Name string
		Args     json.RawMessage
	}
	Finish  json.RawMessage // a reason, or a list of allowed ones
	Tokens  *sdk.Tokens
	Error   string
	Returns []string
}

// formats returns the wire format of each protocol of the recordings.
func formats() map[string]wiretest.Open {
	return map[string]wiretest.Open{
		"chat": chat.Open, "responses": responses.Open, "anthropic": anthropic.Open, "gemini": gemini.Open,
		"bedrock": bedrock.Open,
	}
}

// npm returns the package that opencode uses for a provider of the recordings, if it matters for the wire format.
func npm(provider string) string {
	return map[string]string{
		"openrouter": "@openrouter/ai-sdk-provider", "mistral": "@ai-sdk/mistral", "xai-chat": "@ai-sdk/xai", "groq": "@ai-sdk/groq",
		"google-vertex": "@ai-sdk/google-vertex", "google-vertex-anthropic": "@ai-sdk/google-vertex/anthropic",
		"azure": "@ai-sdk/azure", "github-copilot": "@ai-sdk/github-copilot", "vercel": "@ai-sdk/gateway", "cerebras": "@ai-sdk/cerebras",
	}[provider]
}

// TestRecordedConversations replays each conversation: the events of an answer, and the content of the next request, must be those
// of a correct client.
func TestRecordedConversations(t *testing.T) {
	t.Parallel()
	total, passed := 0, 0
	for _, c := range conversations(t) {
		open := formats()[c.Protocol]
		if open == nil {
			t.Errorf("%s: unknown protocol %s", c.ID, c.Protocol)
			continue
		}
		total++
		if problem := replay(t, open, &c); problem != "" {
			t.Errorf("%s (%s): %s", c.ID, c.Provider, problem)
		} else {
			passed++
		}
	}
	t.Logf("%d of %d conversations pass", passed, total)
	if total < 248 {
		t.Errorf("%d conversations, want 248", total)
	}
}

func conversations(t *testing.T) (out []conversation) {
	t.Helper()
	f, err := os.Open("testdata/streams.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unpacked)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var c conversation
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// replay serves the steps of a conversation and one more request, and describes the first difference.
func replay(t *testing.T, open wiretest.Open, c *conversation) string {
	t.Helper()
	var serving atomic.Pointer[step] // nil: no answer, only the request counts
	var sent atomic.Value            // the body of the last request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent.Store(string(body))
		if s := serving.Load(); s != nil {
			serve(t, w, c.Protocol, s)
			return
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	defer srv.Close()
	transport := wire.NewTransport()
	defer transport.CloseIdleConnections()
	info := sdk.ProviderInfo{
		ID: c.Provider, NPM: npm(c.Provider), BaseURL: srv.URL, Key: "key-for-test", // of no account
		Options: options(c.Provider), Headers: map[string]string{},
	}
	client, err := open(info, transport, slog.New(slog.DiscardHandler))
	if err != nil {
		return err.Error()
	}
	req := wiretest.Hello()
	req.Model = sdk.Model{ID: c.Model, ProviderID: c.Provider, Reasoning: true, Limit: sdk.ModelLimit{Context: 200_000, Output: 8_000}}
	for i := range c.Steps {
		serving.Store(&c.Steps[i])
		var events []sdk.StreamEvent
		err := client.Stream(t.Context(), req, func(ev sdk.StreamEvent) error { events = append(events, ev); return nil })
		wiretest.CheckRules(t, events, err)
		if problem := compare(&c.Steps[i].Expect, events, err); problem != "" {
			return fmt.Sprintf("step %d: %s", i, problem)
		}
		req.Messages = append(req.Messages, history(events)...)
		serving.Store(nil)
		_ = client.Stream(t.Context(), req, nil)
		next := sent.Load().(string)
		for _, sealed := range c.Steps[i].Expect.Returns {
			if !strings.Contains(next, sealed) {
				return fmt.Sprintf("step %d: the next request lacks %.60s: %.4000s", i, sealed, next)
			}
		}
	}
	return ""
}

func options(provider string) sdk.Object {
	switch provider {
	case "google-vertex", "google-vertex-anthropic":
		return sdk.Object{"project": "p", "location": "global"}
	}
	return nil
}

func serve(t *testing.T, w http.ResponseWriter, protocol string, s *step) {
	body := []byte(s.Body)
	switch {
	case s.Encoding == "base64":
		var err error
		if body, err = base64.StdEncoding.DecodeString(s.Body); err != nil {
			t.Error(err)
		}
	case protocol == "bedrock" && s.Status == http.StatusOK:
		body = frames(t, body)
	}
	for name, value := range s.Headers {
		if !strings.EqualFold(name, "content-length") && !strings.EqualFold(name, "transfer-encoding") {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(s.Status)
	_, _ = w.Write(body)
}

// frames puts recorded events, one a line, into the frames in which AWS sends them.
func frames(t *testing.T, lines []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(lines) {
		var event map[string]json.RawMessage
		if err := json.Unmarshal(line, &event); err != nil {
			t.Error(err)
		}
		for kind, payload := range event {
			m := eventstream.Message{Payload: payload}
			m.Headers.Set(":message-type", eventstream.StringValue("event"))
			m.Headers.Set(":event-type", eventstream.StringValue(kind))
			if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
				t.Error(err)
			}
		}
	}
	return out.Bytes()
}

// content joins the events of an answer into the content of its message.
func content(events []sdk.StreamEvent) (out []sdk.ModelContent, finish sdk.StreamEvent) {
	index := map[string]int{}
	for _, ev := range events {
		if ev.Type == sdk.StreamFinish {
			finish = ev
			continue
		}
		i, known := index[ev.ID]
		if !known {
			i = len(out)
			index[ev.ID] = i
			typ := map[string]string{sdk.StreamText: sdk.ContentText, sdk.StreamReasoning: sdk.ContentReasoning, sdk.StreamToolCall: sdk.ContentToolCall}[ev.Type]
			out = append(out, sdk.ModelContent{Type: typ, CallID: ev.CallID, Tool: ev.Tool})
		}
		if ev.Type == sdk.StreamToolCall {
			out[i].Args = append(out[i].Args, ev.Text...)
		} else {
			out[i].Text += ev.Text
		}
		if len(ev.Metadata) > 0 {
			out[i].Metadata = ev.Metadata
		}
	}
	return out, finish
}

// history returns the answer, and results of its calls or the user's next message.
func history(events []sdk.StreamEvent) []sdk.ModelMessage {
	said, _ := content(events)
	if len(said) == 0 {
		return nil
	}
	var results []sdk.ModelContent
	for i := range said {
		if said[i].Type == sdk.ContentToolCall {
			if len(bytes.TrimSpace(said[i].Args)) == 0 {
				said[i].Args = json.RawMessage("{}")
			}
			results = append(results, sdk.ModelContent{Type: sdk.ContentToolResult, CallID: said[i].CallID, Tool: said[i].Tool, Text: "result"})
		}
	}
	next := sdk.ModelMessage{Role: sdk.RoleTool, Content: results}
	if results == nil {
		next = sdk.ModelMessage{Role: sdk.RoleUser, Content: []sdk.ModelContent{{Type: sdk.ContentText, Text: "go on"}}}
	}
	return []sdk.ModelMessage{{Role: sdk.RoleAssistant, Content: said}, next}
}

func compare(want *expectation, events []sdk.StreamEvent, err error) string {
	var failed *sdk.ProviderError
	switch {
	case want.Error != "" && !errors.As(err, &failed):
		return fmt.Sprintf("error %v, want %q", err, want.Error)
	case want.Error != "":
		if !strings.Contains(failed.Message, want.Error) {
			return fmt.Sprintf("error %q, want %q", failed.Message, want.Error)
		}
		return ""
	case err != nil:
		return err.Error()
	}
	said, finish := content(events)
	var text, reasoning string
	var tools []string
	for _, c := range said {
		switch c.Type {
		case sdk.ContentText:
			text += c.Text
		case sdk.ContentReasoning:
			reasoning += c.Text
		case sdk.ContentToolCall:
			tools = append(tools, c.CallID+" "+c.Tool+" "+normal(c.Args))
		}
	}
	var wantTools []string
	for i, tool := range want.Tools {
		id := tool.ID
		if id == "" && i < len(tools) {
			id, _, _ = strings.Cut(tools[i], " ")
		}
		wantTools = append(wantTools, id+" "+tool.Name+" "+normal(tool.Args))
	}
	if diff := cmp.Diff(want.Text, text); diff != "" {
		return "text: " + diff
	}
	if diff := cmp.Diff(squeeze(want.Reasoning), squeeze(reasoning)); diff != "" {
		return "reasoning: " + diff
	}
	if diff := cmp.Diff(wantTools, tools); diff != "" {
		return "tools: " + diff
	}
	return compareEnd(want, finish)
}

func compareEnd(want *expectation, finish sdk.StreamEvent) string {
	var reasons []string
	if json.Unmarshal(want.Finish, &reasons) != nil {
		reasons = []string{strings.Trim(string(want.Finish), `"`)}
	}
	if !slices.Contains(reasons, finish.Reason) {
		return fmt.Sprintf("finish %q, want %s", finish.Reason, want.Finish)
	}
	if want.Tokens == nil {
		return ""
	}
	got := finish.Tokens
	got.Total, want.Tokens.Total = 0, 0
	return cmp.Diff(*want.Tokens, got)
}

func normal(args json.RawMessage) string {
	var v any
	if len(bytes.TrimSpace(args)) == 0 {
		return "{}"
	}
	if json.Unmarshal(args, &v) != nil {
		return string(args)
	}
	if s, ok := v.(string); ok { // arguments that are not JSON
		return s
	}
	out, _ := json.Marshal(v)
	return string(out)
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

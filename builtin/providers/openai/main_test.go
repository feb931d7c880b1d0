package openai_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/sdk"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a client of the protocol; the test's end closes its connections.
func open(t testing.TB, protocol string, info sdk.ProviderInfo) sdk.ModelClient {
	t.Helper()
	client, err := tryOpen(t, protocol, info)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func tryOpen(t testing.TB, protocol string, info sdk.ProviderInfo) (sdk.ModelClient, error) {
	t.Helper()
	p := openai.New()
	t.Cleanup(func() { _ = p.Close(context.WithoutCancel(t.Context())) })
	if info.ID == "" {
		info.ID = "test"
	}
	for _, proto := range p.Protocols() {
		if proto.Name == protocol {
			return proto.Open(info)
		}
	}
	t.Fatalf("no protocol %s", protocol)
	return nil, nil
}

// ask streams a small request and returns the events; every answer is checked against the rules of the
// contract.
func ask(t testing.TB, client sdk.ModelClient, req *sdk.ModelRequest) ([]sdk.StreamEvent, error) {
	t.Helper()
	if req == nil {
		req = hello()
	}
	var events []sdk.StreamEvent
	err := client.Stream(t.Context(), req, func(ev sdk.StreamEvent) error {
		events = append(events, ev)
		return nil
	})
	wiretest.CheckRules(t, events, err)
	return events, err
}

func hello() *sdk.ModelRequest { return wiretest.Hello() }

func userText(text string) sdk.ModelMessage {
	return sdk.ModelMessage{Role: sdk.RoleUser, Content: []sdk.ModelContent{{Type: sdk.ContentText, Text: text}}}
}

// host is what the plugin gets at its start.
type host struct {
	sdk.Host
	log *slog.Logger
}

func (h host) Logger() *slog.Logger { return h.log }

// rawAnswer returns the bytes that a server answers with: for Chat Completions a reply, for Responses one with the same parts.
func rawAnswer(t testing.TB, protocol string) string {
	t.Helper()
	if protocol == openai.ProtocolResponses {
		return responsesAnswer
	}
	reply := fakellm.Text("a", "b").Reasoning("reasoning", "c").Interleaved(
		fakellm.ToolCall{Name: "read", Args: `{"x":1}`, Chunks: 3}, fakellm.ToolCall{Name: "grep", Args: `{"y":2}`, Chunks: 3}).Text("d")
	srv := fakellm.Start(reply)
	defer srv.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Post(srv.URL()+"/chat/completions", "application/json", strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// sampled is rawAnswer in short.
var sampled = []string{"text:ab", "reasoning:c", `read:{"x":1}`, `grep:{"y":2}`, "text:d", "finish:tool-calls"}

// responsesAnswer is an answer of the Responses protocol, with all its events.
var responsesAnswer = event("response.created", `"response":{"id":"resp_1","status":"in_progress"}`) +
	item("added", 0, `"type":"message","id":"msg_0"`) + textDelta(0, "a") + textDelta(0, "b") + item("done", 0, `"type":"message","id":"msg_0","content":[{"type":"output_text","text":"ab"}]`) +
	item("added", 1, `"type":"reasoning","id":"rs_1"`) + event("response.reasoning_summary_text.delta", `"output_index":1,"summary_index":0,"delta":"c"`) +
	item("done", 1, `"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"c"}],"encrypted_content":"x"`) +
	item("added", 2, `"type":"function_call","id":"fc_2","call_id":"call_1","name":"read"`) + item("added", 3, `"type":"function_call","id":"fc_3","call_id":"call_2","name":"grep"`) +
	argsDelta(2, `{"x`) + argsDelta(3, `{"y":`) + argsDelta(2, `":1}`) + argsDelta(3, `2}`) +
	item("added", 4, `"type":"message","id":"msg_4"`) + textDelta(4, "d") + item("done", 4, `"type":"message","id":"msg_4","content":[{"type":"output_text","text":"d"}]`) +
	event("response.function_call_arguments.done", `"output_index":2,"arguments":"{\"x\":1}"`) + item("done", 2, `"type":"function_call","id":"fc_2","call_id":"call_1","name":"read","arguments":"{\"x\":1}"`) +
	item("done", 3, `"type":"function_call","id":"fc_3","call_id":"call_2","name":"grep","arguments":"{\"y\":2}"`) +
	event("response.completed", `"response":{"status":"completed","usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":40},"output_tokens":30,"output_tokens_details":{"reasoning_tokens":12},"total_tokens":130}}`)

func textDelta(index int, delta string) string {
	return event("response.output_text.delta", fmt.Sprintf(`"output_index":%d,"delta":%q`, index, delta))
}

func argsDelta(index int, delta string) string {
	return event("response.function_call_arguments.delta", fmt.Sprintf(`"output_index":%d,"delta":%q`, index, delta))
}

// begun answers with text in a protocol, and does not end.
func begun(protocol string, chunks ...string) fakellm.Reply {
	if protocol == openai.ProtocolChat {
		return fakellm.Text(chunks...).Finish(fakellm.NoFinish)
	}
	reply := fakellm.Raw("")
	for _, chunk := range chunks {
		reply = reply.Raw(textDelta(0, chunk))
	}
	return reply
}

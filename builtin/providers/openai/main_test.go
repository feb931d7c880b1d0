package openai_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
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

// rawAnswer returns an answer of a protocol, with all its events.
func rawAnswer(protocol string) string {
	if protocol == openai.ProtocolResponses {
		return responsesAnswer
	}
	args := func(index int, delta string) string {
		return call(fmt.Sprintf(`"index":%d,"function":{"arguments":%q}`, index, delta))
	}
	return delta(`"content":"a"`) + delta(`"content":"b"`) + delta(`"reasoning":"c"`) +
		call(`"index":0,"id":"call_1","function":{"name":"read","arguments":""}`) + call(`"index":1,"id":"call_2","function":{"name":"grep","arguments":""}`) +
		args(0, `{"x`) + args(1, `{"y":`) + args(0, `":1}`) + args(1, `2}`) + delta(`"content":"d"`) + finish("tool_calls") + chatDone
}

// sampled is rawAnswer in short.
var sampled = []string{"text:ab", "reasoning:c", `read:{"x":1}`, `grep:{"y":2}`, "text:d", "finish:tool-calls"}

// responsesAnswer is rawAnswer of Responses.
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

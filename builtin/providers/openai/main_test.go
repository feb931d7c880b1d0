package openai_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

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
	checkRules(t, events, err)
	return events, err
}

// checkRules holds what every answer must keep to, whatever the server sent.
func checkRules(t testing.TB, events []sdk.StreamEvent, err error) {
	t.Helper()
	types := map[string]string{}
	for i, ev := range events {
		last := i == len(events)-1
		if (ev.Type == sdk.StreamFinish) != (last && err == nil) {
			t.Errorf("event %d of %d is %q, error %v: finish must come last, once, and only without an error", i, len(events), ev.Type, err)
		}
		if ev.Type == sdk.StreamFinish {
			if ev.Reason == "" {
				t.Error("finish without a reason")
			}
			continue
		}
		if ev.ID == "" {
			t.Errorf("event %d has no block ID: %+v", i, ev)
		}
		first := types[ev.ID] == ""
		if !first && types[ev.ID] != ev.Type {
			t.Errorf("block %s is %s and %s", ev.ID, types[ev.ID], ev.Type)
		}
		types[ev.ID] = ev.Type
		if named := ev.CallID != "" && ev.Tool != ""; named != (first && ev.Type == sdk.StreamToolCall) {
			t.Errorf("event %d of block %s: call ID %q, tool %q, first %v", i, ev.ID, ev.CallID, ev.Tool, first)
		}
	}
	var provider *sdk.ProviderError
	if err == nil && len(events) == 0 {
		t.Error("no error and no finish")
	}
	if err != nil && !errors.As(err, &provider) {
		t.Errorf("error %v (%T) is no *sdk.ProviderError", err, err)
	}
}

func hello() *sdk.ModelRequest {
	return &sdk.ModelRequest{
		Model:     sdk.Model{ID: "fake-model", ProviderID: "test"},
		SessionID: "ses_1",
		Purpose:   sdk.PurposeTurn,
		System:    []string{"Be brief."},
		Messages:  []sdk.ModelMessage{userText("hi")},
		Tools:     []sdk.ToolDefinition{{ID: "read", Description: "Reads a file.", Parameters: []byte(`{"type":"object"}`)}},
	}
}

func userText(text string) sdk.ModelMessage {
	return sdk.ModelMessage{Role: sdk.RoleUser, Content: []sdk.ModelContent{{Type: sdk.ContentText, Text: text}}}
}

// host is what the plugin gets at its start.
type host struct {
	sdk.Host
	log *slog.Logger
}

func (h host) Logger() *slog.Logger { return h.log }

// rawAnswer returns the bytes a server answers with.
func rawAnswer(t testing.TB, protocol string, reply fakellm.Reply) string {
	t.Helper()
	srv, err := fakellm.Start(reply)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	path := "/chat/completions"
	if protocol == openai.ProtocolResponses {
		path = "/responses"
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Post(srv.URL()+path, "application/json", strings.NewReader(`{"stream":true}`))
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

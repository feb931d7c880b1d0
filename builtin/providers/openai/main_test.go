package openai_test

import (
	"context"
	"flag"
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

// rawAnswer returns the bytes a server answers with.
func rawAnswer(t testing.TB, protocol string, reply fakellm.Reply) string {
	t.Helper()
	srv := fakellm.Start(reply)
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

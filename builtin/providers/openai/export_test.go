package openai

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// EncodeBody encodes a request as a client of the protocol does.
func EncodeBody(protocol string, req *sdk.ModelRequest) ([]byte, error) {
	return EncodeBodyFor(sdk.ProviderInfo{ID: "test", BaseURL: "http://127.0.0.1:1/v1"}, protocol, req)
}

// EncodeBodyFor encodes a request as a client of the provider does.
func EncodeBodyFor(info sdk.ProviderInfo, protocol string, req *sdk.ModelRequest) ([]byte, error) {
	c, err := testClient(info, protocol)
	if err != nil {
		return nil, err
	}
	if c.responses {
		return c.responsesBody(req)
	}
	return c.chatBody(req)
}

// Decode decodes an answer without a connection. The error is what Stream would return.
func Decode(protocol string, answerBytes []byte) (events []sdk.StreamEvent, err error) {
	c, err := testClient(sdk.ProviderInfo{ID: "test", BaseURL: "http://127.0.0.1:1/v1"}, protocol)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	ex := newExchange(ctx, 0)
	defer ex.close()
	ex.begin(&http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(answerBytes))}, 0)
	out := &answer{sink: func(ev sdk.StreamEvent) error { events = append(events, ev); return nil }}
	return events, c.failure(ctx, ex, consume(ex, c.decoder(out)))
}

// SplitThinking feeds the deltas to the recogniser of <think> and returns all it gave.
func SplitThinking(deltas ...string) (reasoning, text string) {
	var t thinking
	for _, d := range deltas {
		r, x := t.split(d)
		reasoning, text = reasoning+r, text+x
	}
	r, x := t.flush()
	return reasoning + r, text + x
}

// ReadError returns what the body of an error says.
func ReadError(body string) (code, message string, status int) {
	e := readError([]byte(body))
	return e.code, e.message, e.status
}

func testClient(info sdk.ProviderInfo, protocol string) (*client, error) {
	base, err := url.Parse(info.BaseURL)
	if err != nil {
		return nil, err
	}
	s, err := newSettings(info, base, slog.New(slog.DiscardHandler))
	return &client{settings: s, info: info, responses: protocol == ProtocolResponses}, err
}

// ListFrom lists the models of a server that answers with the body, as id:context/output.
func ListFrom(t *testing.T, body string) (string, error) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
	defer srv.Close()
	transport := newTransport()
	defer transport.CloseIdleConnections()
	c, err := newClient(sdk.ProviderInfo{ID: "test", BaseURL: srv.URL}, false, transport, slog.New(slog.DiscardHandler))
	if err != nil {
		return "", err
	}
	models, err := c.ListModels(t.Context())
	var out []string
	for _, m := range models {
		out = append(out, fmt.Sprintf("%s:%d/%d", m.ID, m.Limit.Context, m.Limit.Output))
	}
	return strings.Join(out, " "), err
}

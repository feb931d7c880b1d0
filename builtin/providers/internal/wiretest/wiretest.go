// Package wiretest tests wire formats: it answers requests without a network, and checks the rules that every answer follows.
package wiretest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// Open is the function Open of a wire format.
type Open func(sdk.ProviderInfo, *http.Transport, *slog.Logger) (sdk.ModelClient, error)

// transport answers each request with the same bytes.
type transport struct {
	status int
	body   []byte
	seen   func(*http.Request)
}

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.seen != nil {
		t.seen(req)
	}
	return &http.Response{
		StatusCode: t.status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: req, Body: io.NopCloser(bytes.NewReader(t.body)),
	}, nil
}

// Transport returns a transport that answers every request with the bytes. seen, if not nil, receives the requests.
func Transport(status int, body []byte, seen func(*http.Request)) *http.Transport {
	t := &http.Transport{Protocols: &http.Protocols{}} // without HTTP/2, whose registration for https would fail
	t.RegisterProtocol("http", transport{status, body, seen})
	t.RegisterProtocol("https", transport{status, body, seen})
	return t
}

// Info returns a provider at an address that no request reaches.
func Info() sdk.ProviderInfo {
	return sdk.ProviderInfo{ID: "test", BaseURL: "http://127.0.0.1:1/v1"}
}

// AWSCredentials sets the credentials of a test in the environment, and hides all others.
func AWSCredentials(t *testing.T) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_DEFAULT_PROFILE": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
	} {
		t.Setenv(name, value)
	}
}

// Decode returns the events of an answer with these bytes, and the error of Stream.
func Decode(ctx context.Context, open Open, info sdk.ProviderInfo, req *sdk.ModelRequest, body []byte) (events []sdk.StreamEvent, err error) {
	client, err := open(info, Transport(http.StatusOK, body, nil), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	err = client.Stream(ctx, req, func(ev sdk.StreamEvent) error { events = append(events, ev); return nil })
	return events, err
}

// Sent returns the request that the format sends, and its body.
func Sent(t testing.TB, open Open, info sdk.ProviderInfo, req *sdk.ModelRequest) (sent *http.Request, body string) {
	t.Helper()
	seen := func(r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent, body = r, string(data)
	}
	client, err := open(info, Transport(http.StatusTeapot, nil, seen), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Stream(t.Context(), req, func(sdk.StreamEvent) error { return nil }) // the answer is an error
	if sent == nil {
		t.Fatal("no request was sent")
	}
	return sent, body
}

// Hello returns a small request.
func Hello() *sdk.ModelRequest {
	return &sdk.ModelRequest{
		Model:     sdk.Model{ID: "fake-model", ProviderID: "test"},
		SessionID: "ses_1",
		Purpose:   sdk.PurposeTurn,
		System:    []string{"Be brief."},
		Messages:  []sdk.ModelMessage{{Role: sdk.RoleUser, Content: []sdk.ModelContent{{Type: sdk.ContentText, Text: "hi"}}}},
		Tools:     []sdk.ToolDefinition{{ID: "read", Description: "Reads a file.", Parameters: []byte(`{"type":"object"}`)}},
	}
}

// CheckRules reports violations of the rules that every answer follows, whatever the server sent.
func CheckRules(t testing.TB, events []sdk.StreamEvent, err error) {
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
	if err == nil && len(events) == 0 {
		t.Error("no error and no finish")
	}
	if err != nil && !errors.As(err, new(*sdk.ProviderError)) {
		t.Errorf("error %v (%T) is not a *sdk.ProviderError", err, err)
	}
}

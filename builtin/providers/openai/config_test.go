package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/sdk"
)

func TestOpenRefusesBadConfiguration(t *testing.T) {
	t.Parallel()
	good := "http://127.0.0.1:1/v1"
	cases := map[string]struct {
		info sdk.ProviderInfo
		want string
	}{
		"no URL":       {sdk.ProviderInfo{ID: "x"}, "provider.x.options.baseURL"},
		"no scheme":    {sdk.ProviderInfo{BaseURL: "localhost:8080/v1"}, "not an http"},
		"other scheme": {sdk.ProviderInfo{BaseURL: "ftp://x/v1"}, "not an http"},
		"secret URL":   {sdk.ProviderInfo{BaseURL: "ftp://u:hunter22@x/v1?k=hunter22"}, ": ftp://x/v1"},
		"secret, bad":  {sdk.ProviderInfo{BaseURL: "https://u:hunter22?x@h/v1"}, "not an http"},
		"timeout":      {sdk.ProviderInfo{BaseURL: good, Options: sdk.Object{"timeout": "soon"}}, "options.timeout is soon, want milliseconds or false"},
		"negative":     {sdk.ProviderInfo{BaseURL: good, Options: sdk.Object{"chunkTimeout": -1.0}}, "options.chunkTimeout"},
		"flag":         {sdk.ProviderInfo{BaseURL: good, Options: sdk.Object{"setCacheKey": 1.0}}, "want true or false"},
		"text":         {sdk.ProviderInfo{BaseURL: good, Options: sdk.Object{"reasoningField": true}}, "want a text"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tryOpen(t, openai.ProtocolChat, c.info)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter22") {
				t.Errorf("error %v, want one with %q and no secret", err, c.want)
			}
		})
	}
	options := sdk.Object{"timeout": json.Number("100"), "chunkTimeout": 1e300, "headerTimeout": int64(5), "setCacheKey": nil, "apiKey": "k"}
	if _, err := tryOpen(t, openai.ProtocolChat, sdk.ProviderInfo{BaseURL: good, Options: options}); err != nil {
		t.Error(err)
	}
}

func TestUnknownOptionsAreLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := openai.New()
	if err := p.Start(t.Context(), host{log: slog.New(slog.NewTextHandler(&out, nil))}); err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	if _, err := p.Protocols()[0].Open(sdk.ProviderInfo{ID: "x", BaseURL: "http://h/v1", Options: sdk.Object{"tiemout": 1.0, "apiKey": "sk-1", "clientId": "mine"}}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "tiemout") || strings.Contains(got, "sk-1") || strings.Count(got, "\n") != 1 {
		t.Errorf("log:\n%s", got)
	}
}

func TestManifestAndClose(t *testing.T) {
	t.Parallel()
	p := openai.New()
	m := p.Manifest()
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestListModels(t *testing.T) {
	t.Parallel()
	srv := fakellm.New(t)
	srv.SetModels("b", "nomic-embed-text", "a")
	models, err := open(t, openai.ProtocolChat, sdk.ProviderInfo{ID: "local", BaseURL: srv.URL()}).(sdk.ModelLister).ListModels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []sdk.Model{
		{ID: "b", ProviderID: "local", Name: "b", ToolCall: true, Temperature: true},
		{ID: "a", ProviderID: "local", Name: "a", ToolCall: true, Temperature: true},
	}
	if diff := cmp.Diff(want, models); diff != "" {
		t.Error(diff)
	}
}

func TestModelListings(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		body string
		want string // id/context/output of each, or part of the error
		bad  bool
	}{
		"openrouter": {`{"data":[{"id":"a/b","name":"B","context_length":1000}]}`, "a/b:1000/0", false},
		"groq":       {`{"data":[{"id":"a","context_window":131072,"max_completion_tokens":32768}]}`, "a:131072/32768", false},
		"vllm":       {`{"data":[{"id":"a","max_model_len":8192}]}`, "a:8192/0", false},
		"llama.cpp":  {`{"models":[{"name":"x"}],"data":[{"id":"a","meta":{"n_ctx_train":4096}}]}`, "a:4096/0", false},
		"together":   {`[{"id":"a","type":"chat"},{"id":"i","type":"image"}]`, "a:0/0", false},
		"mistyped":   {`{"data":[{"id":"a","context_length":"long"},{"id":"b","context_length":5}]}`, "a:0/0 b:5/0", false},
		"none":       {`{"data":[]}`, "", false},
		"null":       {`{"object":"list","data":null}`, "", false}, // Ollama without a model
		"no data":    {`{"models":[]}`, "malformed", true},
		"page":       {"<html>", "web page", true},
		"garbage":    {"{", "malformed", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := openai.ListFrom(t, c.body)
			if (err != nil) != c.bad || (c.bad && !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("error %v", err)
			}
			if !c.bad && got != c.want {
				t.Errorf("models %q, want %q", got, c.want)
			}
		})
	}
}

// TestHeadersThatHTTPCannotCarry are an error of the configuration that names the place and not the value, not one of the network.
func TestHeadersThatHTTPCannotCarry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		info sdk.ProviderInfo
		want string
	}{
		"key":         {sdk.ProviderInfo{Key: "sk-1\nsecret"}, "provider.test.options.apiKey"},
		"header":      {sdk.ProviderInfo{Headers: map[string]string{"X-A": "secret\r\nX-B: 1"}}, `options.headers["X-A"]`},
		"header name": {sdk.ProviderInfo{Headers: map[string]string{"X A": "secret"}}, `"X A" is not the name of a header`},
		"no name":     {sdk.ProviderInfo{Headers: map[string]string{"": "secret"}}, `"" is not the name`},
	} {
		c.info.BaseURL = "http://127.0.0.1:1/v1"
		_, err := tryOpen(t, openai.ProtocolChat, c.info)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v, want %q in it", name, err, c.want)
		}
	}
}

// TestHostileListings end with an error in bounded memory.
func TestHostileListings(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"too long":    `{"data":[{"id":"` + strings.Repeat("x", 9<<20) + `"}]}`,
		"too many":    `{"data":[{}` + strings.Repeat(",{}", 70_000) + `]}`,
		"nested deep": strings.Repeat("[", 1<<19),
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		_, err := open(t, openai.ProtocolChat, sdk.ProviderInfo{BaseURL: srv.URL}).(sdk.ModelLister).ListModels(t.Context())
		if !errors.Is(err, sdk.ErrAnswerLimit) {
			t.Errorf("%s: error %v, want %v", name, err, sdk.ErrAnswerLimit)
		}
		srv.Close()
	}
}

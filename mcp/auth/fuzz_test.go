package auth

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/tenonhq/tenon/internal/httpx"
)

// FuzzRegistration: a registration keeps its client, and says how the client authenticates.
func FuzzRegistration(f *testing.F) {
	f.Add([]byte(`{"client_id":"a","client_secret":null,"redirect_uris":["http://127.0.0.1:1/"],"client_id_issued_at":1764446400}`))
	f.Add([]byte(`{"client_id":"a","client_secret":"s"}`))
	f.Add([]byte(`{"client_id":7,"token_endpoint_auth_method":["none"]}`))
	f.Add([]byte(`{"issuer":"https://a.example","token_endpoint":"https://a.example/token"}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		g := newClient("https://a.example/mcp").Transport.(*guard)
		g.note(content)
		out := withMethod(content)
		if bytes.Equal(out, content) {
			return
		}
		var before, after map[string]any
		if json.Unmarshal(content, &before) != nil || json.Unmarshal(out, &after) != nil {
			t.Fatalf("%q became %q", content, out)
		}
		id, _ := json.Marshal(before["client_id"])
		if now, _ := json.Marshal(after["client_id"]); !bytes.Equal(id, now) || after["token_endpoint_auth_method"] != "none" || len(after) < len(before) {
			t.Errorf("%q became %q", content, out)
		}
	})
}

// answering answers every request with the same metadata.
type answering []byte

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(a)), Request: req}, nil
}

// A token is requested for the server itself or, if its own origin says so, for a resource that contains it.
func FuzzMetadata(f *testing.F) {
	f.Add(`Bearer resource_metadata="https://a.example/.well-known/oauth-protected-resource", scope="x"`, []byte(`{"resource":"https://a.example"}`))
	f.Add(`Bearer error="invalid_token", Basic realm="é`, []byte(`{"resource":"https://A.example/x/mcp/"}`))
	f.Add(`bearer resource_metadata="https://evil.example/.well-known/oauth-protected-resource"`, []byte(`{"resource":"https://a.example/x"}`))
	f.Add(`Bearer resource_metadata="https://a.example/.well-known/oauth-protected-resource/../x"`, []byte(`{"resource":"https://a.example:443/x/../y"}`))
	f.Add(`Bearer resource_metadata=`, []byte(`{"resource":"https://u:p@a.example/x/mcp#f"} trailing`))
	f.Fuzz(func(t *testing.T, challenge string, metadata []byte) {
		const server = "https://a.example/x/mcp"
		a := New(Options{Server: "s", URL: server})
		a.client = &http.Client{Transport: answering(metadata)}
		header := http.Header{"Www-Authenticate": {challenge}}
		resource, resp, err := a.locate(t.Context(), &http.Response{StatusCode: http.StatusUnauthorized, Header: header, Body: http.NoBody})
		if err != nil && resource != server {
			t.Fatalf("%q and %v", resource, err)
		}
		if resource == "" || resp == nil {
			t.Fatalf("%q, %v", resource, resp)
		}
		at, parseErr := url.Parse(resource)
		own, _ := url.Parse(server)
		if canonical(resource) != canonical(server) && (parseErr != nil || !httpx.SameOrigin(at, own) || at.Path != "" && at.Path != "/" && at.Path != "/x" && at.Path != "/x/") {
			t.Errorf("a token for %q", resource)
		}
	})
}

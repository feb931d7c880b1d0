// Package vertex has the addresses and the sign-in of Google's Vertex AI, which several wire formats share.
package vertex

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

// The npm packages of Vertex AI.
const (
	NPM          = "@ai-sdk/google-vertex"
	NPMAnthropic = "@ai-sdk/google-vertex/anthropic"
)

// ErrNoList is returned for lists of models, which Vertex AI does not have.
var ErrNoList = fmt.Errorf("vertex AI has no list of models: %w", errors.ErrUnsupported)

// scope is the scope of tokens, see https://cloud.google.com/vertex-ai/docs/authentication.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// Setup sets the base URL of the provider from its options project and location, unless it is set, and returns the function that adds
// credentials: the provider's key, or Application Default Credentials. version is the API's version, publisher the models' owner.
func Setup(info *sdk.ProviderInfo, r *wire.Options, version, publisher, location string) (func(*http.Request, []byte) error, error) {
	project := ""
	wire.Read(r, "project", wire.String, &project)
	wire.Read(r, "location", wire.Label, &location)
	if err := r.Err(); err != nil {
		return nil, err
	}
	if info.BaseURL == "" {
		if project == "" {
			return nil, fmt.Errorf("the project is missing: set provider.%s.options.project or GOOGLE_VERTEX_PROJECT", info.ID)
		}
		info.BaseURL = fmt.Sprintf("https://%s/%s/projects/%s/locations/%s/publishers/%s", Host(location), version, wire.Segment(project), wire.Segment(location), publisher)
	}
	switch {
	case info.Key != "":
		return wire.KeyHeader("x-goog-api-key", info.Key), nil
	case info.KeyOnly:
		return nil, wire.KeyRequired("Application Default Credentials")
	}
	return (&source{}).authorize, nil
}

// Serves reports whether an address belongs to Vertex AI, which serves models of other companies in OpenAI's format.
func Serves(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" {
		return false
	}
	name := u.Hostname()
	regional := strings.HasPrefix(name, "aiplatform.") && strings.HasSuffix(name, ".rep.googleapis.com")
	return name == "aiplatform.googleapis.com" || strings.HasSuffix(name, "-aiplatform.googleapis.com") || regional
}

// Host returns the server of a location, see https://cloud.google.com/vertex-ai/docs/general/locations.
func Host(location string) string {
	switch location {
	case "global":
		return "aiplatform.googleapis.com"
	case "us", "eu":
		return "aiplatform." + location + ".rep.googleapis.com"
	}
	return location + "-aiplatform.googleapis.com"
}

// tokenTimeout limits a request for a token; Google's libraries have no limit.
const tokenTimeout = 30 * time.Second

// source requests tokens. It opens Application Default Credentials with the first request and refreshes its token.
type source struct {
	mu     sync.Mutex
	tokens oauth2.TokenSource
}

func (s *source) authorize(req *http.Request, _ []byte) error {
	if strings.HasPrefix(req.Header.Get("Authorization"), "Bearer ") {
		return nil // the user's own token
	}
	ctx := req.Context()
	var token *oauth2.Token
	done := make(chan error, 1)
	go func() { // ends with its requests, which tokenTimeout bounds; they do not end with ctx
		transport := httpx.Proxied{Transport: http.DefaultTransport.(*http.Transport)}
		client := &http.Client{Transport: transport, Timeout: tokenTimeout, CheckRedirect: httpx.CheckRedirect(3, "token_uri of the credentials")}
		found, err := s.token(context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, client))
		token = found
		done <- err
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-done:
		if err != nil {
			return fmt.Errorf("application default credentials of Google Cloud: %w; run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS", err)
		}
		token.SetAuthHeader(req)
		return nil
	}
}

func (s *source) token(ctx context.Context) (*oauth2.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens == nil {
		found, err := google.FindDefaultCredentials(ctx, scope)
		if err != nil {
			return nil, err
		}
		s.tokens = found.TokenSource
	}
	token, err := s.tokens.Token()
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode >= http.StatusInternalServerError {
		err = &oauth.Error{Status: refused.Response.StatusCode} // see oauth.Passing
	}
	return token, err
}

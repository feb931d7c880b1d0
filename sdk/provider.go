package sdk

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Protocol is a wire protocol of model servers. "protocol" in a provider's configuration refers to its name.
type Protocol struct {
	Name string
	// Open returns a client for one provider. It must not use the network. The client owns info, which includes the API key.
	Open func(info ProviderInfo) (ModelClient, error)
}

// ModelClient sends requests to the models of one provider. It may be called concurrently.
type ModelClient interface {
	// Stream sends the request and calls sink for each event in order, from one goroutine, until the answer is complete, ctx ends or
	// sink returns an error. It does not retry; the host does. If it returns nil, the last event was StreamFinish. Errors of the
	// server and of the connection are *ProviderError.
	Stream(ctx context.Context, req *ModelRequest, sink func(StreamEvent) error) error
}

// ModelLister is implemented by clients that can list the models of the server.
type ModelLister interface {
	ListModels(ctx context.Context) ([]Model, error)
}

// ModelCatalog is implemented by a compiled-in ProviderSource that describes models of any provider.
type ModelCatalog interface {
	// CatalogModels returns further models of a provider, by ID; nil without any. Those of ProviderInfo.Models replace them. It is called at most
	// once for each provider that is used. The caller owns the result.
	CatalogModels(provider string) (map[string]Model, error)
	// RefreshCatalog starts a refresh in the background if the catalog is old. The next start of the host uses its result. It is
	// called once, when the first answer of one of the catalog's providers begins; it does not block.
	RefreshCatalog()
	// CompleteModel sets missing variants, options and sampling parameters. It is called for each model that is used, before the
	// user's configuration of the model is applied.
	CompleteModel(provider *ProviderInfo, m *Model)
	// SmallModel returns the ID of the provider's model for titles in sessions with this model; empty without one. It is called for providers
	// without ProviderInfo.Small, and must not change its arguments.
	SmallModel(provider *ProviderInfo, session *Model, models map[string]Model) string
}

// ProviderError is a failed model request.
type ProviderError struct {
	ProviderID string
	StatusCode int               // of the HTTP response; 0 without one
	Headers    map[string]string // of the HTTP response, names in lower case
	Body       string            // of the HTTP response, at most 16 KiB
	Code       string            // error code in the response, such as context_length_exceeded
	Message    string            // error message of the server, for the user
	Cut        bool              // the stream ended early
	Err        error             // the cause, if it is not a response of the server
}

// Error returns the provider, the message and, if the server refused the request, its status.
func (e *ProviderError) Error() string {
	msg := e.Message
	if msg == "" && e.Err != nil {
		msg = e.Err.Error()
	}
	if e.StatusCode >= 300 && e.Err == nil {
		return fmt.Sprintf("provider %s: %s (status %d)", e.ProviderID, msg, e.StatusCode)
	}
	return fmt.Sprintf("provider %s: %s", e.ProviderID, msg)
}

// Unwrap returns the cause.
func (e *ProviderError) Unwrap() error { return e.Err }

// DefaultIdleTimeout is the longest time without a byte of the answer before a provider cancels the stream. It allows for models that reason
// without output.
const DefaultIdleTimeout = 5 * time.Minute

// MaxModelAnswerBytes bounds the text, reasoning and tool arguments of one model answer, together. The longest answer that a model of
// 2026 can give, 128,000 tokens, has about 0.5 MiB.
const MaxModelAnswerBytes = 16 << 20

// ErrAnswerLimit is wrapped by errors about an answer that exceeds a limit on its size or its total duration. The host does not retry.
var ErrAnswerLimit = errors.New("answer limit exceeded")

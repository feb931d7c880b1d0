package sdk

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Protocol is a way to talk to model servers, registered by a plugin under a name that "protocol" in a
// provider's configuration refers to.
type Protocol struct {
	Name string
	// Open returns a client for one provider. It must not touch the network. The info, its key
	// included, belongs to the client.
	Open func(info ProviderInfo) (ModelClient, error)
}

// ModelClient asks the models of one provider. Safe for use from many goroutines.
type ModelClient interface {
	// Stream sends the request and calls sink for each event in order, from one goroutine, until the
	// answer is complete, ctx ends or sink returns an error. It makes one try: the host retries. When it
	// returns nil, the last event was StreamFinish. Errors of the server and of the connection are
	// *ProviderError.
	Stream(ctx context.Context, req *ModelRequest, sink func(StreamEvent) error) error
}

// ModelLister is implemented by clients that can ask the server which models it has.
type ModelLister interface {
	ListModels(ctx context.Context) ([]Model, error)
}

// ProviderError is a failed model request.
type ProviderError struct {
	ProviderID string
	StatusCode int               // of the HTTP response; 0 when there was none
	Headers    map[string]string // of the HTTP response, names in lower case
	Body       string            // of the HTTP response, at most 16 KiB
	Code       string            // the error code the server named, such as context_length_exceeded
	Message    string            // what the server said, for the user
	Cut        bool              // the stream broke off after it had begun
	Err        error             // the cause, when it was not the server's answer
}

// Error names the provider, what the server said and the status.
func (e *ProviderError) Error() string {
	msg := e.Message
	if msg == "" && e.Err != nil {
		msg = e.Err.Error()
	}
	if e.StatusCode != 0 {
		return fmt.Sprintf("provider %s: %s (status %d)", e.ProviderID, msg, e.StatusCode)
	}
	return fmt.Sprintf("provider %s: %s", e.ProviderID, msg)
}

// Unwrap returns the cause.
func (e *ProviderError) Unwrap() error { return e.Err }

// DefaultIdleTimeout is how long a provider waits for the first byte of an answer, and for the next
// one, before it gives the stream up: long enough for a model that reasons in silence.
const DefaultIdleTimeout = 5 * time.Minute

// MaxModelAnswerBytes bounds the text, reasoning and tool arguments of one model answer, together. The longest answer that a model of
// 2026 can give, 128,000 tokens, has about 0.5 MiB.
const MaxModelAnswerBytes = 16 << 20

// ErrAnswerLimit is wrapped by errors about an answer that exceeds a limit on its size or its whole duration. The host does not ask
// again: another try would end in the same way.
var ErrAnswerLimit = errors.New("answer limit exceeded")

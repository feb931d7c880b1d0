package guest

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/tenonhq/tenon/sdk"
)

// EventOperation is the name of the operation by which a WASM guest sends an event of a model's answer; its request is the event.
const EventOperation = "stream.event"

type (
	// Connection is the data for a model client.
	Connection struct {
		Protocol string          `json:"protocol"` // one of the plugin's
		Provider json.RawMessage `json:"provider"` // an sdk.ProviderInfo
		Key      string          `json:"key,omitempty"`
	}
	// StreamRequest is a request to a model.
	StreamRequest struct {
		Connection Connection      `json:"connection"`
		Request    json.RawMessage `json:"request,omitempty"` // an sdk.ModelRequest
	}
	// StreamFailure is the end of a failed model request; Error is nil after a success.
	StreamFailure struct {
		Error *ProviderError `json:"error,omitempty"`
	}
	// ModelList is the answer to a request for the models of a provider.
	ModelList struct {
		Models []sdk.Model    `json:"models"`
		Error  *ProviderError `json:"error,omitempty"`
	}
	// ProviderError is an sdk.ProviderError, with the names of plugin.proto.
	ProviderError struct {
		Provider   string            `json:"provider"`
		StatusCode int               `json:"status_code"`
		Headers    map[string]string `json:"headers"`
		Body       string            `json:"body"`
		Code       string            `json:"code"`
		Message    string            `json:"message"`
		Cut        bool              `json:"cut"`
		Cause      string            `json:"cause,omitempty"`
	}
)

// NewProviderError returns an error of a model request for the wire. An error that is not an *sdk.ProviderError becomes the cause.
func NewProviderError(err error) *ProviderError {
	var e *sdk.ProviderError
	if !errors.As(err, &e) {
		return &ProviderError{Cause: err.Error()}
	}
	out := &ProviderError{
		Provider: e.ProviderID, StatusCode: e.StatusCode, Headers: e.Headers, Body: e.Body, Code: e.Code, Message: e.Message, Cut: e.Cut,
	}
	if e.Err != nil {
		out.Cause = e.Err.Error()
	}
	return out
}

// Err returns the error with this provider as the default.
func (e *ProviderError) Err(provider string) *sdk.ProviderError {
	out := &sdk.ProviderError{
		ProviderID: e.Provider, StatusCode: e.StatusCode, Headers: e.Headers, Body: e.Body, Code: e.Code, Message: e.Message, Cut: e.Cut,
	}
	out.ProviderID = cmp.Or(out.ProviderID, provider)
	if e.Cause != "" {
		out.Err = errors.New(e.Cause)
	}
	return out
}

// SendEvent sends an event of a model's answer to the host of a WASM guest.
func (c Caller) SendEvent(e sdk.StreamEvent) error {
	return c.do(Detached(), EventOperation, e, nil)
}

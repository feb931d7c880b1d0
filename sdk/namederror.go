package sdk

import (
	"cmp"
	"encoding/json"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
)

// NamedError is an error in a message: a name for its kind, and data.
type NamedError struct {
	Name string    `json:"name"`
	Data ErrorData `json:"data"`
}

// Names of errors.
const (
	ErrorProviderAuth     = "ProviderAuthError"
	ErrorUnknown          = "UnknownError"
	ErrorOutputLength     = "MessageOutputLengthError"
	ErrorAborted          = "MessageAbortedError"
	ErrorStructuredOutput = "StructuredOutputError"
	ErrorContextOverflow  = "ContextOverflowError"
	ErrorContentFilter    = "ContentFilterError"
	ErrorAPI              = "APIError"
)

// ErrorData is the data of an error. The name of the error determines which fields are set.
type ErrorData struct {
	Message         string            `json:"message,omitempty"`
	ProviderID      string            `json:"providerID,omitempty"`
	StatusCode      int               `json:"statusCode,omitempty"`
	IsRetryable     bool              `json:"isRetryable,omitempty"`
	ResponseHeaders map[string]string `json:"responseHeaders,omitempty"`
	ResponseBody    string            `json:"responseBody,omitempty"`
	Retries         int               `json:"retries,omitempty"`
	Ref             string            `json:"ref,omitempty"`
	Metadata        Object            `json:"metadata,omitempty"`
	Extra           Extra             `json:"-"`
}

// Error returns the message, or the name if it is empty.
func (e *NamedError) Error() string {
	return cmp.Or(e.Data.Message, e.Name)
}

// MarshalJSON writes isRetryable of an APIError even if it is false: clients require it.
func (e NamedError) MarshalJSON() ([]byte, error) {
	type plain NamedError
	if e.Name != ErrorAPI || e.Data.IsRetryable {
		return jsontext.Marshal(plain(e))
	}
	data, err := e.Data.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return jsontext.Marshal(struct {
		Name string          `json:"name"`
		Data json.RawMessage `json:"data"`
	}{e.Name, jsontext.AppendField(data, "isRetryable", []byte("false"))})
}

// UnmarshalJSON decodes the data and keeps its unknown fields.
func (d *ErrorData) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, d) }

// MarshalJSON encodes the data with its unknown fields.
func (d ErrorData) MarshalJSON() ([]byte, error) { return value.Marshal(&d) }

package sdk

import "encoding/json"

// Change is one change of a value: what stands at the JSON pointer (RFC 6901) from then on. An index
// one past the end of an array appends.
type Change struct {
	Pointer string          `json:"pointer"`
	Value   json.RawMessage `json:"value,omitempty"`
	Remove  bool            `json:"remove,omitempty"` // takes the member away; Value is empty
}

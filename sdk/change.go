package sdk

import "encoding/json"

// Change is one change of a value: the new JSON at a pointer (RFC 6901). An index one past the end of an array appends, and so
// does -.
type Change struct {
	Pointer string          `json:"pointer"`
	Value   json.RawMessage `json:"value,omitempty"`
	Remove  bool            `json:"remove,omitempty"` // removes the member; Value is empty
}

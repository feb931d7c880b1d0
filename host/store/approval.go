package store

// Approval is a permission that the user granted permanently with the answer "always". It belongs to a project, not to a session.
type Approval struct {
	ID         int64  `json:"id"` // set by the store, from 1
	Project    string `json:"-"`
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Created    int64  `json:"created"`           // milliseconds since 1970
	Session    string `json:"session,omitempty"` // in which it was granted
	Origin     string `json:"origin"`            // human-readable: the request
}

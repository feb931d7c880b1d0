package store

// Approval is what the user allowed for good with an answer "always". It belongs to a project, not to the session it was given in.
type Approval struct {
	ID         int64  `json:"id"` // given by the store, from 1
	Project    string `json:"-"`  // where it holds
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Created    int64  `json:"created"`           // milliseconds since 1970
	Session    string `json:"session,omitempty"` // in which it was given
	Origin     string `json:"origin"`            // human-readable: the request
}

package store

import "context"

// Approval is what the user allowed for good with an answer "always".
type Approval struct {
	ID         int64  `json:"id"` // given by the store, from 1
	Project    string `json:"-"`  // where it holds
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Created    int64  `json:"created"`           // milliseconds since 1970
	Session    string `json:"session,omitempty"` // in which it was given
	Origin     string `json:"origin"`            // human-readable: the request
}

// ApprovalKeeper is the part of a Store that keeps approvals. They belong to a project, not to the session they were
// given in. Every process sees what another one stored as soon as it is stored.
type ApprovalKeeper interface {
	// Approve stores approvals, all or none. One that is there, of the same project, permission and pattern, stays as
	// it is.
	Approve(ctx context.Context, approvals []Approval) error
	// Approvals lists those of a project, oldest first.
	Approvals(ctx context.Context, project string) ([]Approval, error)
	// Forget removes one approval of a project, or with ID 0 all, and returns how many there were. Errors: ErrNotFound
	// for an ID that is not there.
	Forget(ctx context.Context, project string, id int64) (int, error)
}

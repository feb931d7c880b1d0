package live

import "errors"

var (
	// ErrNotFound is returned for an unknown session, message, agent or request.
	ErrNotFound = errors.New("not found")
	// ErrNothing means that there is nothing to undo, nothing was undone, or no summary to take out.
	ErrNothing = errors.New("nothing to do")
)

package live

import "errors"

var (
	// ErrNotFound means that there is no session, message, agent or request of that name.
	ErrNotFound = errors.New("not found")
	// ErrNothing means that there is nothing to undo, nothing was undone, or no summary to take out.
	ErrNothing = errors.New("nothing to do")
)

package live

import "errors"

var (
	// ErrNotFound is returned for an unknown session, message, agent or request.
	ErrNotFound = errors.New("not found")
	// ErrNothing is returned if there is nothing to undo or redo, or no summary to remove.
	ErrNothing = errors.New("nothing to do")
)

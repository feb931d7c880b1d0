package guest

import "context"

// Detached returns a context that never ends, for calls that the host bounds by other means.
func Detached() context.Context { return context.Background() }

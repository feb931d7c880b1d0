package hooks

import "errors"

// ErrNotReady is wrapped by the error of a hook that cannot be called yet for a reason that is not its plugin's fault, such as a module that
// is still being compiled. The hook's OnError applies as for any failure, but the failure does not count towards quarantine.
var ErrNotReady = errors.New("not ready yet")

// RemoteReadier is implemented by remote handlers that need time before the first call. The deadline of a hook does not wait for them.
type RemoteReadier interface {
	// Ready returns an error while calls cannot be answered yet, else nil. The error wraps ErrNotReady if that is not the plugin's fault.
	// It is called when a call ran out of time, from any goroutine, and must return immediately.
	Ready() error
}

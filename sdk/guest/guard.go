package guest

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// errExited is the error of plugin code that ended its goroutine.
var errExited = errors.New("the code ended its goroutine (runtime.Goexit, as by FailNow of package testing) instead of returning")

// Guard runs code of a plugin in a goroutine and waits for it. A panic or the end of the goroutine becomes an error of the call, instead of
// ending the process.
func Guard[T any](log *slog.Logger, run func() (T, error)) (result T, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = errExited
		defer func() {
			if p := recover(); p != nil {
				log.Debug("panic", "err", fmt.Sprint(p), "stack", string(debug.Stack()))
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		result, err = run()
	}()
	<-done
	return result, err
}

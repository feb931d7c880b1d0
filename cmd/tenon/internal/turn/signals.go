package turn

import (
	"os"
	"os/signal"
	"syscall"
)

// CatchSignals delivers signals that ask the process to end, until stop is called. Writes to a closed pipe return errors instead of
// killing the process, so that the turn ends properly.
//
// Signals that were ignored at the start of the process, as with nohup, stay ignored.
func CatchSignals() (signals <-chan os.Signal, stop func()) {
	end := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(end, s)
		}
	}
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return end, func() {
		signal.Stop(end)
		signal.Stop(broken)
	}
}

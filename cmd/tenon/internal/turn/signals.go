package turn

import (
	"os"
	"os/signal"
	"syscall"
)

// CatchSignals delivers what asks the process to end. Writes to a closed pipe become errors, so that a turn
// whose reader went away is still wound up.
//
// Signals that were ignored when the process started, as nohup does, stay ignored.
func CatchSignals() (<-chan os.Signal, func()) {
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

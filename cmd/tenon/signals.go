package main

import (
	"os"
	ossignal "os/signal"
	"syscall"
)

type signal = os.Signal

// catchSignals delivers what asks the process to end. Writes to a closed pipe become errors, so that a turn
// whose reader went away is still wound up.
//
// Signals that were ignored when the process started, as nohup does, stay ignored.
func catchSignals() (<-chan signal, func()) {
	end := make(chan signal, 2)
	for _, s := range []signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !ossignal.Ignored(s) {
			ossignal.Notify(end, s)
		}
	}
	broken := make(chan signal, 1)
	ossignal.Notify(broken, syscall.SIGPIPE)
	return end, func() {
		ossignal.Stop(end)
		ossignal.Stop(broken)
	}
}

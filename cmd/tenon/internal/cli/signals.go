package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// endings are the signals that ask a process to end.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// catch delivers endings to c. Signals ignored at the start of the process, as with nohup, stay ignored.
func catch(c chan os.Signal) {
	for _, s := range endings {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// Interruptible returns a context that ends with the first signal that asks the process to end, so that a command can stop the servers and plugins
// it has started. The second signal ends the process.
func (a *App) Interruptible(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	a.interrupted = ctx.Done()
	c := make(chan os.Signal, 1)
	a.signals = c
	catch(c)
	go func() {
		<-c
		signal.Stop(c)
		cancel()
	}()
	return ctx
}

// KeepWriting lets writes to a closed pipe return errors from now on, instead of killing the process: a turn ends properly if its output is closed,
// and continues if only stderr is.
func KeepWriting() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// takeTime is how long a signal waits for the caller of TakeSignals, who usually receives it immediately, before the next one ends the process.
const takeTime = 250 * time.Millisecond

// TakeSignals returns the signals that ask the process to end. Until stop is called, they have no other effect, unless the caller does not receive
// one, for example while its output blocks: then the next one ends the process.
func (a *App) TakeSignals() (signals <-chan os.Signal, stop func()) {
	c, taken, done := make(chan os.Signal, 1), make(chan os.Signal), make(chan struct{})
	catch(c)
	signal.Stop(a.signals) // only now, so that no signal ends the process in between
	a.signals = c
	var passing sync.WaitGroup
	passing.Go(func() { // ends with stop, which waits
		for {
			var s os.Signal
			select {
			case s = <-c:
			case <-done:
				return
			}
			select {
			case taken <- s:
			case <-done:
			case <-time.After(takeTime):
				signal.Reset(endings...)
				select {
				case taken <- s:
					catch(c)
				case <-done:
				}
			}
		}
	})
	return taken, func() {
		close(done)
		passing.Wait()
		signal.Stop(c)
	}
}

// Await calls read, which waits for the user or stdin and cannot be canceled. During the call, signals end the process. Await returns immediately
// if a signal has arrived before.
func (a *App) Await(read func() error) error {
	signal.Reset(endings...)
	select {
	case <-a.interrupted:
		return Fail(ExitInterrupted, errors.New("interrupted"), "") // the next signal ends the process
	default:
	}
	defer catch(a.signals)
	return read()
}

package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// endings are the signals that ask a process to end.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// catch delivers endings to c. Those that were ignored at the start of the process, as with nohup, stay ignored.
func catch(c chan<- os.Signal) {
	for _, s := range endings {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// Interruptible returns a context that ends with the first signal that asks the process to end: a command then ends what it started, such as
// the servers and plugins it asked. The second signal ends the process.
func Interruptible(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	c := make(chan os.Signal, 1)
	catch(c)
	go func() {
		<-c
		signal.Stop(c)
		cancel()
	}()
	return ctx
}

// TakeSignals is for commands that do more than end: it delivers signals that ask the process to end to them alone, until stop is called.
// Writes to a closed pipe return errors instead of killing the process, so that the turn ends properly.
func TakeSignals() (signals <-chan os.Signal, stop func()) {
	c, broken := make(chan os.Signal, 2), make(chan os.Signal, 1)
	signal.Reset(endings...)
	catch(c)
	signal.Notify(broken, syscall.SIGPIPE)
	return c, func() {
		signal.Stop(c)
		signal.Stop(broken)
	}
}

// answer asks a question and returns what read returns, or an error if a signal asks the process to end before. read waits for the user and is
// left waiting then.
func (a *App) answer(question string, read func() (string, error)) (string, error) {
	type result struct {
		line string
		err  error
	}
	c, done := make(chan os.Signal, 1), make(chan result, 1)
	catch(c)
	defer signal.Stop(c)
	a.Screen.Ask(question)
	go func() {
		line, err := read()
		done <- result{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-c:
	case <-a.Interrupted:
	}
	return "", Fail(ExitInterrupted, errors.New("interrupted"), "")
}

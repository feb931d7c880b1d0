package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// maxAnswer bounds the bytes of one answer: far more than a model writes, little enough to stop a
// server that never ends.
const maxAnswer = 256 << 20

// lingerTimeout is how long the end of a stream may take once the model has finished: some servers send
// the usage late, some never close.
const lingerTimeout = 2 * time.Second

var errTooLong = fmt.Errorf("the answer is longer than %d MiB", maxAnswer>>20)

// idleError ends an exchange whose server has been silent for too long.
type idleError struct {
	silence time.Duration
	begun   bool // there were headers
}

func (e *idleError) Error() string {
	if e.begun {
		return fmt.Sprintf("the server sent nothing more for %s", e.silence)
	}
	return fmt.Sprintf("the server did not answer within %s", e.silence)
}

func (*idleError) Unwrap() error { return os.ErrDeadlineExceeded }

// exchange is one request and its answer, which ends when the server is silent for too long. One
// goroutine uses it.
type exchange struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	timer    *time.Timer // nil: no timeout
	idle     time.Duration
	res      *http.Response // nil until begin
	received int64
}

func newExchange(ctx context.Context, headerTimeout time.Duration) *exchange {
	ex := &exchange{}
	ex.ctx, ex.cancel = context.WithCancelCause(ctx)
	ex.limit(headerTimeout)
	return ex
}

// begin takes over the response, whose headers have come.
func (ex *exchange) begin(res *http.Response, idle time.Duration) {
	ex.res = res
	ex.limit(idle)
}

// limit sets how long the server may be silent from now on; 0 is without end.
func (ex *exchange) limit(idle time.Duration) {
	if ex.timer != nil {
		ex.timer.Stop()
		ex.timer = nil
	}
	ex.idle = idle
	if idle > 0 {
		begun := ex.res != nil
		ex.timer = time.AfterFunc(idle, func() { ex.cancel(&idleError{silence: idle, begun: begun}) })
	}
}

// linger shortens the wait once the answer is complete.
func (ex *exchange) linger() {
	if ex.idle == 0 || ex.idle > lingerTimeout {
		ex.limit(lingerTimeout)
	}
}

// Read reads the body of the answer.
func (ex *exchange) Read(p []byte) (int, error) {
	n, err := ex.res.Body.Read(p)
	if n > 0 && ex.timer != nil {
		ex.timer.Reset(ex.idle)
	}
	if ex.received += int64(n); ex.received > maxAnswer {
		return n, errTooLong
	}
	return n, err
}

// timedOut returns the idleError that ended the exchange, or nil.
func (ex *exchange) timedOut() *idleError {
	var idle *idleError
	errors.As(context.Cause(ex.ctx), &idle)
	return idle
}

// drain reads what is left, so that the connection can be used again. It gives up soon.
func (ex *exchange) drain() {
	ex.limit(100 * time.Millisecond)
	_, _ = io.CopyN(io.Discard, ex.res.Body, 4<<10)
}

// close ends the exchange. It may be called twice.
func (ex *exchange) close() {
	if ex.timer != nil {
		ex.timer.Stop()
	}
	if ex.res != nil {
		_ = ex.res.Body.Close()
	}
	ex.cancel(nil)
}

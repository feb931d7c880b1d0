package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// Bounds of one answer on the wire. The host bounds its content, see sdk.MaxModelAnswerBytes.
const (
	// maxAnswer is the maximum size of an answer in bytes, including framing: a short delta takes 50 to 200
	// times the size of its text.
	maxAnswer = 256 << 20
	// maxEvent is the maximum size of one event, and of an answer that is not a stream: decoding takes several times its size in
	// memory. The longest legitimate event repeats a whole answer, about 0.5 MiB, with the tools of the request.
	maxEvent = 4 << 20
	// maxRead is the maximum number of bytes between two checks of maxEvent.
	maxRead = 64 << 10
	// maxElements is the maximum number of JSON values in one event: an empty object of 3 bytes takes up to 200 in memory. The tools that
	// a server repeats have some thousand.
	maxElements = 1 << 16
	// maxEvents is the maximum number of events, several for each token of the longest answers.
	maxEvents = 1 << 21
)

// eventFactor times the idle timeout is the maximum time until the next event. Bytes that complete no event, such as comments,
// cannot extend the wait beyond it.
const eventFactor = 2

// lingerTimeout is the maximum time until the end of a stream after the model has finished: some servers send
// the usage late, some never close.
const lingerTimeout = 2 * time.Second

var (
	errTooLong     = fmt.Errorf("%w: the server sent more than %d MiB", sdk.ErrAnswerLimit, maxAnswer>>20)
	errEventTooBig = fmt.Errorf("%w: an event, or an answer that is not a stream, is too large", sdk.ErrAnswerLimit)
	errEvents      = fmt.Errorf("%w: the server sent more than %d events", sdk.ErrAnswerLimit, maxEvents)
	errElements    = fmt.Errorf("%w: an event, or an answer that is not a stream, has too many values", sdk.ErrAnswerLimit)
)

// idleError is the cause of an exchange ended by a timeout.
type idleError struct {
	silence time.Duration
	begun   bool // headers were received
	alive   bool // bytes were received, but no event
}

func (e *idleError) Error() string {
	switch {
	case e.alive:
		return fmt.Sprintf("the server completed no event for %s", e.silence)
	case e.begun:
		return fmt.Sprintf("the server sent nothing more for %s", e.silence)
	}
	return fmt.Sprintf("the server did not answer within %s", e.silence)
}

func (*idleError) Unwrap() error { return os.ErrDeadlineExceeded }

// exchange is one request and its answer, which ends after a timeout without data. Only one
// goroutine may use it.
type exchange struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	silence  *time.Timer // until the next byte; nil: no limit
	idle     time.Duration
	latest   time.Time      // time of the latest event; before the first event, of begin
	res      *http.Response // nil until begin
	received int64
	events   int
	open     int64 // number of bytes since the latest event
	maxOpen  int64
	secrets  []string // must not appear in errors: the connection's, and the values of headers sent
}

func newExchange(ctx context.Context, headerTimeout time.Duration, secrets []string) *exchange {
	ex := &exchange{maxOpen: maxEvent, secrets: slices.Clone(secrets)}
	ex.ctx, ex.cancel = context.WithCancelCause(ctx)
	ex.limit(headerTimeout)
	return ex
}

// begin sets the response after its headers were received.
func (ex *exchange) begin(res *http.Response, idle time.Duration) {
	ex.res, ex.latest = res, time.Now()
	ex.limit(idle)
}

// event records a complete event.
func (ex *exchange) event() {
	ex.events++
	ex.open, ex.latest = 0, time.Now()
}

// limit sets the maximum time without data from now on; 0 means no limit.
func (ex *exchange) limit(idle time.Duration) {
	ex.stop()
	ex.idle = idle
	if idle > 0 {
		begun := ex.res != nil
		ex.silence = time.AfterFunc(idle, func() { ex.cancel(&idleError{silence: idle, begun: begun}) })
	}
}

// stop stops the timer.
func (ex *exchange) stop() {
	if ex.silence != nil {
		ex.silence.Stop()
	}
	ex.silence = nil
}

// linger shortens the timeout once the answer is complete.
func (ex *exchange) linger() {
	if ex.idle == 0 || ex.idle > lingerTimeout {
		ex.limit(lingerTimeout)
	}
}

// Read reads the body of the answer.
func (ex *exchange) Read(p []byte) (int, error) {
	n, err := ex.res.Body.Read(p[:min(len(p), maxRead)])
	if n > 0 && ex.silence != nil {
		if wait := eventFactor * ex.idle; time.Since(ex.latest) > wait {
			ex.cancel(&idleError{silence: wait, begun: true, alive: true})
			return n, context.Cause(ex.ctx)
		}
		ex.silence.Reset(ex.idle)
	}
	ex.received += int64(n)
	ex.open += int64(n)
	switch {
	case ex.received > maxAnswer:
		return n, errTooLong
	case ex.open > ex.maxOpen:
		return n, errEventTooBig
	}
	return n, err
}

// timedOut returns the idleError that ended the exchange, or nil.
func (ex *exchange) timedOut() *idleError {
	idle, _ := errors.AsType[*idleError](context.Cause(ex.ctx))
	return idle
}

// drain reads the rest for a short time, so that the connection can be reused.
func (ex *exchange) drain() {
	ex.limit(100 * time.Millisecond)
	_, _ = io.CopyN(io.Discard, ex.res.Body, 4<<10)
}

// close ends the exchange. It may be called twice.
func (ex *exchange) close() {
	ex.stop()
	if ex.res != nil {
		_ = ex.res.Body.Close()
	}
	ex.cancel(nil)
}

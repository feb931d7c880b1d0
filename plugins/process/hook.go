package process

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// stubbornTime is the time for which an abandoned hook may continue to run. Then its process is killed, because the hook may never end.
const stubbornTime = 5 * time.Second

// sendQueue is the number of messages that are queued for a process that does not read. Further calls wait until their deadlines.
const sendQueue = 64

// RunHook runs hook n in the process.
func (s *supervisor) RunHook(ctx context.Context, n int, call *sdk.RemoteCall) ([]byte, error) {
	in, err := s.instance(ctx)
	if err != nil {
		return nil, err
	}
	ctx, token, done := in.calls.begin(ctx, runningCall{input: call.Input})
	defer done()
	response, err := in.hooks.call(ctx, &tenonv1.HookRequest{Hook: uint32(n), Request: hookRequest(call), Token: token, TimeoutMs: timeLeft(ctx)})
	if err != nil {
		return nil, err
	}
	if response.Error != "" {
		return nil, errors.New(response.Error)
	}
	return response.Answer, nil
}

// Ready returns an error while the process is starting.
func (s *supervisor) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starting == nil {
		return nil
	}
	return errors.New("its process is still starting: it has not sent its handshake, or has not answered start")
}

// hookRequest encodes a guest.HookRequest. Its parts are already JSON, which encoding/json would scan again.
func hookRequest(call *sdk.RemoteCall) []byte {
	out := make([]byte, 0, len(call.Input)+len(call.Value)+len(`{"input":,"value":}`))
	out = append(append(out, `{"input":`...), call.Input...)
	if len(call.Value) > 0 {
		out = append(append(out, `,"value":`...), call.Value...)
	}
	return append(out, '}')
}

// lateBy is added to the deadline sent to the plugin, so that the host's own deadline comes first.
const lateBy = 100 * time.Millisecond

// timeLeft returns the number of milliseconds after which the plugin should abandon a call; 0 without a deadline.
func timeLeft(ctx context.Context) uint32 {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return uint32(max(time.Until(deadline)+lateBy, lateBy).Milliseconds())
}

// hookStream sends the calls of hooks to one process. One stream for all of them takes half the time of separate gRPC calls.
type hookStream struct {
	in   *instance
	next func() uint64 // returns the ID of a request
	// try sends a request if that does not block. It may then wait some milliseconds for the answer.
	try  func(*tenonv1.HookRequest) bool
	send chan *tenonv1.HookRequest // to the goroutine that writes

	mu      sync.Mutex
	waiting map[uint64]chan *tenonv1.HookResponse // calls that wait for their answers
	late    map[uint64]*time.Timer                // abandoned calls without an answer
}

// openHooks opens the stream. Its goroutines end with ctx; in.inside waits for them.
func openHooks(ctx context.Context, in *instance) (*hookStream, error) {
	h := &hookStream{
		in: in, send: make(chan *tenonv1.HookRequest, sendQueue),
		waiting: map[uint64]chan *tenonv1.HookResponse{}, late: map[uint64]*time.Timer{},
	}
	if lines := in.runner.lines; lines != nil {
		hooks := &lineHooks{lines.conn, h.deliver, h.send}
		h.next, h.try = lines.conn.NextID, hooks.try
		in.inside.Go(func() { h.write(ctx, hooks.send) })
		return h, nil
	}
	var last atomic.Uint64
	h.next = func() uint64 { return last.Add(1) }
	h.try = func(*tenonv1.HookRequest) bool { return false }
	stream, err := in.api.Hooks(ctx)
	if err != nil {
		return nil, in.explain(err)
	}
	in.inside.Go(func() { h.write(ctx, stream.Send) })
	in.inside.Go(func() { h.read(stream) })
	return h, nil
}

// call sends a request and waits for its answer.
func (h *hookStream) call(ctx context.Context, req *tenonv1.HookRequest) (*tenonv1.HookResponse, error) {
	answer := make(chan *tenonv1.HookResponse, 1)
	req.Id = h.next()
	h.mu.Lock()
	h.waiting[req.Id] = answer
	h.mu.Unlock()

	sent := ctx.Err() == nil && h.try(req)
	if !sent {
		select {
		case h.send <- req:
			sent = true
		case <-ctx.Done():
		case <-h.in.runner.ended:
		}
	}
	if sent {
		select {
		case response := <-answer:
			return response, nil
		case <-ctx.Done():
		case <-h.in.runner.ended:
		}
	}
	h.giveUp(req, sent)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, h.in.endError()
}

// giveUp abandons a call, and cancels it in the plugin if it was sent.
func (h *hookStream) giveUp(req *tenonv1.HookRequest, sent bool) {
	h.mu.Lock()
	_, unanswered := h.waiting[req.Id]
	delete(h.waiting, req.Id)
	if sent && unanswered {
		h.late[req.Id] = time.AfterFunc(stubbornTime, func() {
			h.in.runner.fail(fmt.Errorf("a hook kept running for %s after its deadline", stubbornTime))
		})
	}
	h.mu.Unlock()
	if !sent || !unanswered {
		return
	}
	select {
	case h.send <- &tenonv1.HookRequest{Id: req.Id, Cancel: true}:
	case <-h.in.runner.ended:
	default: // the plugin does not read; it knows the deadline
	}
}

// write sends requests until the process ends.
func (h *hookStream) write(ctx context.Context, send func(*tenonv1.HookRequest) error) {
	defer h.stopTimers()
	queue := h.send
	for {
		select {
		case req := <-queue:
			if send(req) != nil {
				queue = nil // the reader gets the same error and ends the process
			}
		case <-ctx.Done():
			return
		case <-h.in.runner.ended:
			return
		}
	}
}

// read delivers answers until the stream ends. If the stream ends before the process, it kills the process.
func (h *hookStream) read(stream grpc.BidiStreamingClient[tenonv1.HookRequest, tenonv1.HookResponse]) {
	for {
		response, err := stream.Recv()
		if err != nil {
			h.in.runner.fail(fmt.Errorf("the stream of hooks ended: %w", h.in.explain(err)))
			return
		}
		h.deliver(response)
	}
}

// deliver passes an answer to its call, unless the call was abandoned.
func (h *hookStream) deliver(response *tenonv1.HookResponse) {
	h.mu.Lock()
	answer := h.waiting[response.Id]
	delete(h.waiting, response.Id)
	if timer := h.late[response.Id]; timer != nil {
		timer.Stop()
		delete(h.late, response.Id)
	}
	h.mu.Unlock()
	if answer != nil {
		answer <- response
	}
}

// overdue reports whether an abandoned call has no answer yet.
func (h *hookStream) overdue() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.late) > 0
}

func (h *hookStream) stopTimers() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, timer := range h.late {
		timer.Stop()
	}
}

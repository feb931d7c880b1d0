package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/jsonpointer"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// stubbornTime is the time for which an abandoned hook may continue to run. Then its process is killed, because the hook may never end.
const stubbornTime = 5 * time.Second

// sendQueue is the number of messages that are queued for a process that does not read. Further calls wait until their deadlines.
const sendQueue = 64

// RunHook runs hook n in the process.
func (s *supervisor) RunHook(ctx context.Context, n int, call *sdk.RemoteCall) ([]byte, error) {
	request := hookRequest(call)
	if err := guest.CheckSize("input of the hook", request); err != nil { // the process could not receive it and would exit
		return nil, fmt.Errorf("%w: %w; let it read fewer fields", hooks.ErrInputSize, err)
	}
	in, err := s.instance(ctx)
	if err != nil {
		return nil, err
	}
	ctx, token, done := in.calls.begin(ctx, runningCall{input: call.Input})
	defer done()
	response, err := in.callHook(ctx, &tenonv1.HookRequest{Hook: uint32(n), Request: request, Token: token, TimeoutMs: timeLeft(ctx)})
	if err != nil {
		return nil, err
	}
	if response.Error != "" {
		return nil, errors.New(response.Error + unread(&s.Description.Hooks[n]))
	}
	return response.Answer, nil
}

// unread returns the end of an error of a hook whose value may lack a field that it writes. Scripts find undefined there.
func unread(h *sdk.HookDescription) string {
	for _, field := range h.Writes {
		if !strings.HasSuffix(field, "/-") && !jsonpointer.Covers(h.Reads, field) {
			return "; if the hook needs " + cmp.Or(field, "the value") + ", list it in reads"
		}
	}
	return ""
}

// Ready returns an error while the process is starting, and when that began.
func (s *supervisor) Ready() (began time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || isDone(s.current.started) {
		return time.Time{}, nil
	}
	return s.current.began, errors.New("its process is still starting: it has not sent its handshake, or has not answered start")
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

// callHook sends a request and waits for its answer.
func (in *instance) callHook(ctx context.Context, req *tenonv1.HookRequest) (*tenonv1.HookResponse, error) {
	answer := make(chan *tenonv1.HookResponse, 1)
	sent := in.api.begin(ctx, req, func(response *tenonv1.HookResponse) { answer <- response })
	select {
	case response := <-answer:
		return response, nil
	case <-ctx.Done():
	case <-in.ended:
	}
	if ctx.Err() == nil {
		return nil, in.endError()
	}
	if sent {
		in.abandon(req.Id, answer)
	}
	return nil, context.Cause(ctx)
}

// abandon cancels a call in the plugin, and ends the process if its hook does not end.
func (in *instance) abandon(id uint64, answer <-chan *tenonv1.HookResponse) {
	in.abandoned.Add(1)
	in.api.cancel(id)
	in.inside.Go(func() { // ends with the process at the latest
		select {
		case <-answer:
		case <-in.ended:
		case <-time.After(stubbornTime):
			in.fail(fmt.Errorf("a hook kept running for %s after its deadline", stubbornTime))
		}
		in.abandoned.Add(-1)
	})
}

// hookStream is the wire over gRPC: one stream for all hooks, which takes half the time of separate calls.
type hookStream struct {
	in    *instance
	calls grpc.BidiStreamingClient[tenonv1.HookRequest, tenonv1.HookResponse]
	send  chan *tenonv1.HookRequest // to the goroutine that writes

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]func(*tenonv1.HookResponse) // by ID of the request
}

func (g *grpcAPI) hooks(ctx context.Context, in *instance) error {
	stream, err := g.client.Hooks(ctx)
	if err != nil {
		return in.explain(err)
	}
	h := &hookStream{
		in: in, calls: stream, send: make(chan *tenonv1.HookRequest, sendQueue), waiting: map[uint64]func(*tenonv1.HookResponse){},
	}
	g.hookStream = h
	in.inside.Go(func() { h.write(ctx) })
	in.inside.Go(h.read)
	return nil
}

func (h *hookStream) begin(ctx context.Context, req *tenonv1.HookRequest, take func(*tenonv1.HookResponse)) (sent bool) {
	if ctx.Err() != nil {
		return false
	}
	h.mu.Lock()
	h.last++
	req.Id = h.last
	h.waiting[req.Id] = take
	h.mu.Unlock()
	select {
	case h.send <- req:
		return true
	case <-ctx.Done():
	case <-h.in.ended:
	}
	h.taker(req.Id)
	return false
}

func (h *hookStream) cancel(id uint64) {
	select {
	case h.send <- &tenonv1.HookRequest{Id: id, Cancel: true}:
	default: // the plugin does not read; it knows the deadline
	}
}

// taker returns the function that receives the answer to a request, once; nil if the request is unknown.
func (h *hookStream) taker(id uint64) func(*tenonv1.HookResponse) {
	h.mu.Lock()
	defer h.mu.Unlock()
	take := h.waiting[id]
	delete(h.waiting, id)
	return take
}

// write sends requests until the process ends.
func (h *hookStream) write(ctx context.Context) {
	queue := h.send
	for {
		select {
		case req := <-queue:
			if h.calls.Send(req) != nil {
				queue = nil // the reader gets the same error and ends the process
			}
		case <-ctx.Done():
			return
		case <-h.in.ended:
			return
		}
	}
}

// read passes answers on until the stream ends. If the stream ends before the process, it kills the process.
func (h *hookStream) read() {
	for {
		response, err := h.calls.Recv()
		if err != nil {
			h.in.fail(fmt.Errorf("the stream of hooks ended: %w", h.in.explain(err)))
			return
		}
		if take := h.taker(response.Id); take != nil {
			take(response)
		}
	}
}

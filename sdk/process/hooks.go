package process

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// hookStream is the stream of hook calls.
type hookStream struct {
	server *server
	stream grpc.BidiStreamingServer[tenonv1.HookRequest, tenonv1.HookResponse]

	sending sync.Mutex
	calls   guest.Calls
}

// Hooks runs the hooks that the host calls, each in its own goroutine, until the host ends the stream.
func (s *server) Hooks(stream grpc.BidiStreamingServer[tenonv1.HookRequest, tenonv1.HookResponse]) error {
	h := &hookStream{server: s, stream: stream}
	var calls sync.WaitGroup
	defer calls.Wait()
	for {
		req, err := stream.Recv()
		if err != nil {
			return err
		}
		if req.Cancel {
			h.calls.Cancel(req.Id)
			continue
		}
		ctx := h.calls.Begin(stream.Context(), req.Id, req.Token, int(req.TimeoutMs))
		calls.Go(func() {
			defer h.calls.Cancel(req.Id)
			h.send(req.Id, h.run(ctx, req))
		})
	}
}

// run calls the hook.
func (h *hookStream) run(ctx context.Context, req *tenonv1.HookRequest) *tenonv1.HookResponse {
	answer, err := guarded(h.server, func() (sdk.Answer, error) { return h.server.guest.Hook(ctx, int(req.Hook), req.Request) })
	var body []byte
	if err == nil {
		body, err = guest.AppendAnswer(nil, &answer)
	}
	if err == nil && len(body) > MaxMessage-1<<10 {
		err = tooLarge("answer", len(body))
	}
	if err != nil {
		return &tenonv1.HookResponse{Error: text(err.Error())}
	}
	return &tenonv1.HookResponse{Answer: body}
}

// send answers a call. It ignores the end of the stream, which Hooks notices.
func (h *hookStream) send(id uint64, response *tenonv1.HookResponse) {
	response.Id = id
	h.sending.Lock()
	defer h.sending.Unlock()
	_ = h.stream.Send(response)
}

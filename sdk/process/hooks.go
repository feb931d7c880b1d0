package process

import (
	"sync"

	"google.golang.org/grpc"

	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// Hooks runs the hooks that the host calls, each in its own goroutine, until the host ends the stream.
func (s *server) Hooks(stream grpc.BidiStreamingServer[tenonv1.HookRequest, tenonv1.HookResponse]) error {
	var running guest.Calls
	var sending sync.Mutex
	var calls sync.WaitGroup
	defer calls.Wait()
	for {
		req, err := stream.Recv()
		if err != nil {
			return err
		}
		if req.Cancel {
			running.Cancel(req.Id)
			continue
		}
		ctx := running.Begin(stream.Context(), req.Id, int(req.TimeoutMs))
		calls.Go(func() {
			defer running.Cancel(req.Id)
			request := &guest.Request{Method: "hook", Token: req.Token, Hook: int(req.Hook), Body: req.Request}
			answer, err := s.answer(ctx, request, guest.Side{})
			response := &tenonv1.HookResponse{Id: req.Id, Answer: answer}
			if err != nil {
				response.Error = text(err.Error())
			}
			sending.Lock()
			defer sending.Unlock()
			_ = stream.Send(response) // fails after the end of the stream, which Recv notices
		})
	}
}

package process

import (
	"context"
	"encoding/json"
	"sync"

	"google.golang.org/grpc"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// host is the host for the plugin.
type host struct {
	*guest.Host
	link *link
}

var _ sdk.EventSource = (*host)(nil)

func newHost(start *guest.StartRequest, l *link) *host {
	return &host{guest.NewHost(start, l.logger(), l.caller()), l}
}

// Events streams the granted events until ctx ends; the context of Start ends with Start. If events are not granted, or the host has none, the
// channel is closed, and the reason is logged.
func (h *host) Events(ctx context.Context, size int) <-chan sdk.Event {
	s := guest.NewSubscription(size)
	req := &tenonv1.HostRequest{Request: &tenonv1.HostRequest_Subscription{Subscription: &tenonv1.Subscription{Size: uint32(max(size, 1))}}}
	err := h.link.request(req, func(r *tenonv1.HostResponse) {
		if r.More {
			s.PutJSON(r.Body)
			return
		}
		if r.Status != tenonv1.Status_STATUS_OK {
			h.Logger().Warn("no events", "err", string(r.Body))
		}
		s.End()
	})
	if err != nil {
		s.Close()
		return s.Events
	}
	go s.Follow(ctx, h.link.closed, func() { h.link.cancel(req.Id) })
	return s.Events
}

// toolStream is the stream of one tool call. Nothing is sent after its end: a goroutine of the tool may still run.
type toolStream struct {
	mu     sync.Mutex
	stream grpc.ServerStreamingServer[tenonv1.ToolResponse] // nil after the end
}

// end sends the last message.
func (t *toolStream) end(last *tenonv1.ToolResponse) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	stream := t.stream
	t.stream = nil
	return stream.Send(last)
}

// caller returns the caller of the tool call. Progress is sent on the stream of the call, in order with the result.
func (t *toolStream) caller(l *link, token string) guest.Caller {
	return func(ctx context.Context, op string, request []byte) (guest.Status, []byte, error) {
		if op != "progress" {
			return l.call(ctx, token, op, request)
		}
		var shown struct {
			Title    string          `json:"title"`
			Metadata json.RawMessage `json:"metadata"`
		}
		if err := json.Unmarshal(request, &shown); err != nil {
			return guest.StatusFailed, []byte(err.Error()), nil
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.stream == nil {
			return guest.StatusFailed, []byte("the call is over"), nil
		}
		err := t.stream.Send(&tenonv1.ToolResponse{Event: &tenonv1.ToolResponse_Progress{Progress: &tenonv1.Progress{Title: text(shown.Title), Metadata: shown.Metadata}}})
		return guest.StatusOK, []byte("{}"), err
	}
}

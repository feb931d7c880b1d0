package process

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// errNoHost is the error of requests without a stream to the host.
var errNoHost = errors.New("no connection to the host")

// link is the stream of requests to the host. It may be used concurrently.
type link struct {
	log    *slog.Logger // the host's log; lines are dropped if the stream is not open
	begun  atomic.Bool
	open   chan struct{} // closed when the stream begins
	closed chan struct{} // closed when the stream ends

	sending sync.Mutex
	stream  grpc.BidiStreamingServer[tenonv1.HostResponse, tenonv1.HostRequest] // set before open is closed

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]func(*tenonv1.HostResponse) // by the ID of the request; must not block
}

func newLink() *link {
	l := &link{open: make(chan struct{}), closed: make(chan struct{}), waiting: map[uint64]func(*tenonv1.HostResponse){}}
	l.log = guest.NewLogger(func(level slog.Level, message string, attributes json.RawMessage) {
		line := &tenonv1.Log{Level: int32(level), Message: text(message), Attributes: attributes}
		_ = l.send(&tenonv1.HostRequest{Request: &tenonv1.HostRequest_Log{Log: line}})
	})
	return l
}

// serve passes the host's answers on until the stream ends.
func (l *link) serve(stream grpc.BidiStreamingServer[tenonv1.HostResponse, tenonv1.HostRequest]) error {
	if !l.begun.CompareAndSwap(false, true) {
		return errors.New("the host opened the stream twice")
	}
	l.stream = stream
	close(l.open)
	defer close(l.closed)
	for {
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		l.mu.Lock()
		take := l.waiting[response.Id]
		if !response.More {
			delete(l.waiting, response.Id)
		}
		l.mu.Unlock()
		if take != nil {
			take(response)
		}
	}
}

// awaitOpen waits briefly for the stream: the host opens it before it starts the plugin, but the calls may arrive in another order.
func (l *link) awaitOpen(ctx context.Context) {
	select {
	case <-l.open:
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
}

// send sends a request if the stream is open.
func (l *link) send(req *tenonv1.HostRequest) error {
	select {
	case <-l.open:
	default:
		return errNoHost
	}
	l.sending.Lock()
	defer l.sending.Unlock()
	if err := l.stream.Send(req); err != nil {
		return errNoHost
	}
	return nil
}

// request sends a request. take receives its answers.
func (l *link) request(req *tenonv1.HostRequest, take func(*tenonv1.HostResponse)) error {
	l.mu.Lock()
	l.last++
	req.Id = l.last
	l.waiting[req.Id] = take
	l.mu.Unlock()
	err := l.send(req)
	if err != nil {
		l.cancel(req.Id)
	}
	return err
}

// cancel forgets a request and notifies the host.
func (l *link) cancel(id uint64) {
	l.mu.Lock()
	delete(l.waiting, id)
	l.mu.Unlock()
	_ = l.send(&tenonv1.HostRequest{Id: id, Request: &tenonv1.HostRequest_Cancel{Cancel: &tenonv1.Cancel{}}})
}

// call sends an operation, and waits for the answer.
func (l *link) call(ctx context.Context, op string, request []byte) (guest.Status, []byte, error) {
	if err := guest.CheckSize("request", request); err != nil {
		return 0, nil, err
	}
	answer := make(chan *tenonv1.HostResponse, 1)
	operation := &tenonv1.HostRequest_Operation{Operation: &tenonv1.Operation{Name: op, Request: request}}
	req := &tenonv1.HostRequest{Token: guest.TokenOf(ctx), Request: operation}
	if err := l.request(req, func(r *tenonv1.HostResponse) { answer <- r }); err != nil {
		return 0, nil, err
	}
	select {
	case r := <-answer:
		return guest.Status(r.Status), r.Body, nil
	case <-l.closed:
		return 0, nil, errNoHost
	case <-ctx.Done():
		l.cancel(req.Id)
		return 0, nil, context.Cause(ctx)
	}
}

// subscribe makes the host send events.
func (l *link) subscribe(ctx context.Context, s *guest.Subscription, size int) error {
	req := &tenonv1.HostRequest{Request: &tenonv1.HostRequest_Subscription{Subscription: &tenonv1.Subscription{Size: uint32(size)}}}
	err := l.request(req, func(r *tenonv1.HostResponse) {
		if r.More {
			s.PutJSON(r.Body)
			return
		}
		if r.Status != tenonv1.Status_STATUS_OK {
			l.log.Warn("no events", "err", string(r.Body))
		}
		s.End()
	})
	if err == nil {
		go s.Follow(ctx, l.closed, func() { l.cancel(req.Id) })
	}
	return err
}

package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

const (
	// maxRequests is the maximum number of concurrent requests of one process; tool calls and questions may take long.
	maxRequests   = 64
	maxLogMessage = 4 << 10
	defaultEvents = 64
	maxEvents     = 1024
)

// serveHost answers the requests of the process until ctx or the process ends. in.inside waits for its goroutines.
func serveHost(ctx context.Context, in *instance, h sdk.Host, u *remote.Unit) error {
	s := &hostSession{
		host: h, broker: u.Broker, log: h.Logger(), in: in, writing: make(chan struct{}, 1), running: map[uint64]context.CancelFunc{},
	}
	for _, grant := range u.Grants {
		if grant.Name == sdk.CapabilityEvents {
			s.events = append(s.events, grant.Scope...)
		}
	}
	return in.api.host(ctx, in, func(req *tenonv1.HostRequest) { s.take(ctx, req) })
}

// hostSession answers the requests of one process to the host.
type hostSession struct {
	host    sdk.Host
	broker  *ability.Broker // nil: no operations
	events  []string        // granted types of events; nil: none
	log     *slog.Logger
	in      *instance
	writing chan struct{} // holds one value while a goroutine writes to the process
	budget  remote.LineLimit

	mu      sync.Mutex
	running map[uint64]context.CancelFunc // unanswered requests
}

// take handles a request.
func (s *hostSession) take(ctx context.Context, req *tenonv1.HostRequest) {
	switch r := req.Request.(type) {
	case *tenonv1.HostRequest_Operation:
		s.begin(ctx, req, func(ctx context.Context) { s.operation(ctx, req, r.Operation) })
	case *tenonv1.HostRequest_Subscription:
		s.begin(ctx, req, func(ctx context.Context) { s.subscribe(ctx, req.Id, r.Subscription) })
	case *tenonv1.HostRequest_Log:
		s.print(ctx, r.Log)
	case *tenonv1.HostRequest_Cancel:
		s.mu.Lock()
		if cancel := s.running[req.Id]; cancel != nil {
			cancel()
		}
		s.mu.Unlock()
	default:
		s.answer(ctx, &tenonv1.HostResponse{Id: req.Id, Status: tenonv1.Status_STATUS_UNKNOWN, Body: []byte("this host does not know the request")})
	}
}

// begin handles a request in its own goroutine.
func (s *hostSession) begin(ctx context.Context, req *tenonv1.HostRequest, work func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	refused := ""
	s.mu.Lock()
	switch {
	case s.running[req.Id] != nil:
		refused = "duplicate request id: an earlier request has no answer yet"
	case len(s.running) >= maxRequests:
		refused = "too many requests wait for an answer"
	default:
		s.running[req.Id] = cancel
	}
	s.mu.Unlock()
	if refused != "" {
		defer cancel()
		s.answer(ctx, &tenonv1.HostResponse{Id: req.Id, Status: tenonv1.Status_STATUS_LIMITED, Body: []byte(refused)})
		return
	}
	s.in.inside.Go(func() {
		defer func() {
			cancel()
			s.mu.Lock()
			delete(s.running, req.Id)
			s.mu.Unlock()
		}()
		work(ctx)
	})
}

// operation runs an operation, on behalf of a call if the request has a token.
func (s *hostSession) operation(ctx context.Context, req *tenonv1.HostRequest, op *tenonv1.Operation) {
	refuse := func(status tenonv1.Status, text string) {
		s.answer(ctx, &tenonv1.HostResponse{Id: req.Id, Status: status, Body: []byte(text)})
	}
	if s.broker == nil {
		refuse(tenonv1.Status_STATUS_UNKNOWN, "this host offers no operations")
		return
	}
	var who ability.Caller
	work := ctx
	if req.Token != "" {
		var ok bool
		if who, ok = s.in.calls.find(req.Token); !ok {
			refuse(tenonv1.Status_STATUS_DENIED, "the call that this request belongs to is over")
			return
		}
		var cancel context.CancelFunc
		work, cancel = context.WithCancel(who.Call)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
	}
	result, body := s.broker.Do(work, who, op.GetName(), op.GetRequest())
	s.answer(ctx, &tenonv1.HostResponse{Id: req.Id, Status: tenonv1.Status(result), Body: body})
}

// subscribe sends events until ctx ends.
func (s *hostSession) subscribe(ctx context.Context, id uint64, wanted *tenonv1.Subscription) {
	end := &tenonv1.HostResponse{Id: id}
	defer func() { s.answer(ctx, end) }()
	source, ok := s.host.(sdk.EventSource)
	if !ok {
		end.Status, end.Body = tenonv1.Status_STATUS_UNKNOWN, []byte("this host offers no events")
		return
	}
	if len(s.events) == 0 {
		end.Status, end.Body = tenonv1.Status_STATUS_DENIED, []byte(`grant the capability "events" with the types of events the plugin may see`)
		return
	}
	size := min(max(int(wanted.GetSize()), 0), maxEvents)
	for event := range source.Events(ctx, cmp.Or(size, defaultEvents)) {
		if !matchAny(s.events, event.Type) || len(wanted.GetTypes()) > 0 && !matchAny(wanted.GetTypes(), event.Type) {
			continue
		}
		body, err := json.Marshal(event)
		if err == nil {
			err = guest.CheckSize("event", body) // the process could not receive it and would exit
		}
		if err != nil {
			s.log.Debug("event not sent", "type", event.Type, "err", err)
			continue
		}
		s.answer(ctx, &tenonv1.HostResponse{Id: id, Body: body, More: true})
	}
}

// print writes a line of the plugin to the log.
func (s *hostSession) print(ctx context.Context, line *tenonv1.Log) {
	level := remote.Level(line.GetLevel())
	if !s.log.Enabled(ctx, level) || !s.budget.Take(s.log.Warn) {
		return
	}
	var attrs map[string]json.RawMessage
	if len(line.GetAttributes()) > maxLogMessage || json.Unmarshal(line.GetAttributes(), &attrs) != nil {
		attrs = nil
	}
	args := make([]any, 0, 2*len(attrs))
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		args = append(args, visible.Clean(name, maxLogMessage), visible.Clean(plain(attrs[name]), maxLogMessage))
	}
	// The text must neither control a terminal nor look like another line of the log.
	s.log.Log(ctx, level, visible.Clean(line.GetMessage(), maxLogMessage), args...)
}

// plain returns a string without its quotes, and other JSON unchanged.
func plain(value json.RawMessage) string {
	var text string
	if bytes.HasPrefix(value, []byte(`"`)) && json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// answer sends a response. It waits for a process that does not read, until ctx or the process ends.
func (s *hostSession) answer(ctx context.Context, response *tenonv1.HostResponse) {
	if response.Id == 0 {
		return
	}
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return
	case <-s.in.ended:
		return
	}
	defer func() { <-s.writing }()
	_ = s.in.api.respond(response) // fails when the connection has ended
}

// matchAny reports whether one of the patterns matches. In patterns, * matches any characters.
func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return ability.Match(p, name) })
}

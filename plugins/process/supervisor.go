package process

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// supervisor is a plugin that runs as a process: it starts the process on demand, restarts it after a crash, and ends it.
type supervisor struct {
	*remote.Base
	opts Options

	mu       sync.Mutex
	host     sdk.Host  // nil until Start
	request  []byte    // the start request
	current  *instance // the running process; nil: none
	starting *launch   // the current start; nil: none
	restarts restarts
	closed   chan struct{} // closed by Close
	watching sync.WaitGroup
}

// launch is a start in progress. Its result may be read after done.
type launch struct {
	done   chan struct{}
	cancel context.CancelCauseFunc
	in     *instance
	err    error
}

var (
	_ sdk.Hooker         = (*supervisor)(nil)
	_ sdk.ToolSource     = (*supervisor)(nil)
	_ sdk.ProtocolSource = (*supervisor)(nil)
	_ sdk.ProviderSource = (*supervisor)(nil)
	_ sdk.AuthSource     = (*supervisor)(nil)
	_ sdk.AgentSource    = (*supervisor)(nil)
	_ sdk.CommandSource  = (*supervisor)(nil)
)

func newPlugin(o Options, u *remote.Unit) (sdk.Plugin, error) {
	s := &supervisor{opts: o, restarts: restarts{most: o.Restarts, delay: o.RestartDelay}, closed: make(chan struct{})}
	var err error
	if s.Base, err = remote.NewBase(u, sdk.CarrierProcess, s); err != nil {
		return nil, err
	}
	return s, nil
}

// Start stores the start request of processes. It starts none.
func (s *supervisor) Start(_ context.Context, h sdk.Host) error {
	request, err := s.StartRequest(h, h.Project())
	if err != nil {
		return err
	}
	if s.Broker != nil {
		s.Broker.Bind(h)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host, s.request = h, request
	return nil
}

// Agents returns the agents in the description.
func (s *supervisor) Agents() []sdk.Agent { return s.Description.Agents }

// Commands returns the commands in the description.
func (s *supervisor) Commands(context.Context) ([]sdk.Command, error) {
	return s.Description.Commands, nil
}

// instance returns the process, and starts it if necessary. It waits for a restart if that is due before the deadline of ctx.
func (s *supervisor) instance(ctx context.Context) (*instance, error) {
	for {
		in, starting, wait, err := s.look(ctx)
		if in != nil || err != nil {
			return in, err
		}
		if starting == nil {
			if err := s.pause(ctx, wait); err != nil {
				return nil, err
			}
			continue
		}
		select {
		case <-starting.done:
			return starting.in, starting.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// look returns the process, or the current start, which it begins if it is due, or the time until the next start is due.
func (s *supervisor) look(ctx context.Context) (*instance, *launch, time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := s.Description.Name
	if s.current != nil && s.current.isOver() {
		s.forget(s.current)
	}
	switch {
	case s.isClosed():
		return nil, nil, 0, fmt.Errorf("plugin %q: %w", name, ErrClosed)
	case s.current != nil:
		return s.current, nil, 0, nil
	case s.starting != nil:
		return nil, s.starting, 0, nil
	case s.host == nil:
		return nil, nil, 0, fmt.Errorf("plugin %q: called before Start", name)
	}
	wait, err := s.restarts.wait(time.Now())
	if err != nil {
		return nil, nil, 0, fmt.Errorf("plugin %q: %w", name, err)
	}
	if wait > 0 {
		return nil, nil, wait, nil
	}
	// The start outlives its call, because other calls wait for it, too.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	s.starting = &launch{done: make(chan struct{}), cancel: cancel}
	s.watching.Add(1)
	go s.launch(ctx, s.starting)
	return nil, s.starting, 0, nil
}

// pause waits until a restart is due. A call whose deadline comes first fails immediately.
func (s *supervisor) pause(ctx context.Context, wait time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf("%w: plugin %q: %w; it is started again in %s", ErrEnded, s.Description.Name, s.restarts.last, wait.Round(time.Millisecond))
	}
	select {
	case <-time.After(wait):
		return nil
	case <-s.closed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// launch starts the process and watches it until it ends. s.watching waits for it.
func (s *supervisor) launch(ctx context.Context, l *launch) {
	defer s.watching.Done()
	defer l.cancel(nil)
	log := s.host.Logger()
	began := time.Now()
	in, err := begin(ctx, s.opts, &s.Unit, s.host.Project(), log, func(ctx context.Context, in *instance) error {
		return in.start(ctx, &s.Unit, s.host, s.request, s.opts.Host)
	})
	s.mu.Lock()
	l.in, l.err = in, err
	s.current, s.starting = in, nil
	if err != nil {
		s.restarts.ended(time.Now(), err)
	}
	s.mu.Unlock()
	close(l.done)
	if err != nil {
		return
	}
	log.Debug("process started", "pid", in.runner.ID(), "dur", time.Since(began))

	select {
	case <-in.runner.ended:
		s.crashed(in)
	case <-s.closed: // Close ends it
	}
}

// crashed cleans up after a process that ended unexpectedly.
func (s *supervisor) crashed(in *instance) {
	s.mu.Lock()
	s.forget(in)
	down := s.restarts.down
	s.mu.Unlock()
	s.host.Logger().Warn("process ended", "err", in.runner.how, "down", down)
	in.discard()
}

// forget records, once, that a process ended unexpectedly. The caller holds mu.
func (s *supervisor) forget(in *instance) {
	if s.current == in {
		s.current = nil
		s.restarts.ended(time.Now(), in.runner.how)
	}
}

// isClosed reports whether Close was called.
func (s *supervisor) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// Close ends the process and waits for its goroutines. It may be called twice, and concurrently.
func (s *supervisor) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.isClosed() {
		close(s.closed)
	}
	if s.starting != nil {
		s.starting.cancel(ErrClosed)
	}
	s.mu.Unlock()
	s.watching.Wait()

	s.mu.Lock()
	in := s.current
	s.current = nil
	s.mu.Unlock()
	if in != nil {
		in.close(context.WithoutCancel(ctx))
	}
	if s.Broker == nil {
		return nil
	}
	return s.Broker.Close(ctx)
}

package process

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tenonhq/tenon/plugins/remote"
)

// supervisor manages the process of a plugin: it starts the process on demand, restarts it after a crash, and ends it.
type supervisor struct {
	opts Options
	unit *remote.Unit

	mu       sync.Mutex
	host     *hostService // nil until bind
	request  []byte       // of the plugin's Start
	current  *instance    // the running process; nil: none
	starting *launch      // the current start; nil: none
	restarts restarts
	closed   chan struct{} // closed by close
	watching sync.WaitGroup
}

// launch is a start in progress. Its result may be read after done.
type launch struct {
	done   chan struct{}
	cancel context.CancelCauseFunc
	in     *instance
	err    error
}

func newSupervisor(o Options, u *remote.Unit) *supervisor {
	return &supervisor{
		opts: o, unit: u,
		restarts: restarts{most: o.Restarts, delay: o.RestartDelay}, closed: make(chan struct{}),
	}
}

// bind sets the host and the start request of processes.
func (s *supervisor) bind(host *hostService, request []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host, s.request = host, request
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
	name := s.unit.Description.Name
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
		return fmt.Errorf("%w: plugin %q: %w; it is started again in %s", ErrEnded, s.unit.Description.Name, s.restarts.last, wait.Round(time.Millisecond))
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
	log := s.host.log
	began := time.Now()
	in, err := begin(ctx, s.opts, s.unit, s.host.host.Project(), log, func(ctx context.Context, in *instance) error {
		return in.start(ctx, s.host, s.request, s.unit.Grants, s.opts.Host, len(s.unit.Description.Hooks) > 0)
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
	case <-s.closed: // close ends it
	}
}

// crashed cleans up after a process that ended unexpectedly.
func (s *supervisor) crashed(in *instance) {
	s.mu.Lock()
	s.forget(in)
	down := s.restarts.down
	s.mu.Unlock()
	s.host.log.Warn("process ended", "err", in.runner.how, "down", down)
	in.discard()
}

// forget records, once, that a process ended unexpectedly. The caller holds mu.
func (s *supervisor) forget(in *instance) {
	if s.current == in {
		s.current = nil
		s.restarts.ended(time.Now(), in.runner.how)
	}
}

// isClosed reports whether close was called.
func (s *supervisor) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// close ends the process and waits for all its goroutines. It may be called twice, and concurrently.
func (s *supervisor) close(ctx context.Context) {
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
}

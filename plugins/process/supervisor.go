package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// supervisor is a plugin that runs as a process: it starts the process on demand, restarts it after a crash, and ends it.
type supervisor struct {
	*remote.Base
	opts Options

	mu       sync.Mutex
	host     sdk.Host // nil until Start
	request  []byte   // the start request
	current  *launch  // the process that starts or runs; nil: none
	restarts restarts
	closed   chan struct{} // closed by Close
	watching sync.WaitGroup
}

// launch is a process from the beginning of its start.
type launch struct {
	cancel  context.CancelCauseFunc // ends the start
	began   time.Time
	started chan struct{} // closed when the start has ended
	in      *instance     // read this and err after started
	err     error
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

func newPlugin(o Options, u *remote.Unit) sdk.Plugin {
	s := &supervisor{opts: o, restarts: restarts{limit: o.Restarts, delay: o.RestartDelay}, closed: make(chan struct{})}
	s.Base = remote.NewBase(u, sdk.CarrierProcess, s)
	return s
}

// Start stores the start request for processes. It starts no process.
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
		current, wait, err := s.look(ctx)
		if err != nil {
			return nil, fmt.Errorf("plugin %q: %w", s.Description.Name, err)
		}
		if current == nil {
			if err := s.pause(ctx, wait); err != nil {
				return nil, err
			}
			continue
		}
		select {
		case <-current.started:
			if current.err != nil || !current.in.isOver() {
				return current.in, current.err
			}
			s.forget(current, current.in.how)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// look returns the current process, which it starts if that is due, or the time until the next start is due.
func (s *supervisor) look(ctx context.Context) (*launch, time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case isDone(s.closed):
		return nil, 0, ErrClosed
	case s.host == nil:
		return nil, 0, errors.New("called before Start")
	case s.current != nil:
		return s.current, 0, nil
	}
	wait, err := s.restarts.wait(time.Now())
	if err != nil || wait > 0 {
		return nil, wait, err
	}
	// The start outlives its call, because other calls wait for it, too.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	s.current = &launch{cancel: cancel, began: time.Now(), started: make(chan struct{})}
	s.watching.Add(1)
	go s.launch(ctx, s.current)
	return s.current, 0, nil
}

// pause waits until a restart is due. A call whose deadline comes first fails immediately.
func (s *supervisor) pause(ctx context.Context, wait time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf("%w: plugin %q: %w; next start in %s", ErrEnded, s.Description.Name, s.restarts.last, wait.Round(time.Millisecond))
	}
	select {
	case <-time.After(wait):
	case <-s.closed:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// launch starts the process, watches it until it ends or Close ends it, and cleans up. s.watching waits for it.
func (s *supervisor) launch(ctx context.Context, l *launch) {
	defer s.watching.Done()
	defer l.cancel(nil)
	log := s.host.Logger()
	l.in, l.err = begin(ctx, s.opts, &s.Unit, s.host.Project(), log, func(ctx context.Context, in *instance) error {
		return in.start(ctx, &s.Unit, s.host, s.request, s.opts.Host)
	})
	if l.err != nil {
		s.forget(l, l.err)
		close(l.started)
		return
	}
	close(l.started)
	log.Debug("process started", "pid", l.in.cmd.Process.Pid, "dur", time.Since(l.began))
	select {
	case <-l.in.ended:
		s.forget(l, l.in.how)
		level := slog.LevelInfo // its calls, and the next one if it is not restarted, fail with this reason
		if l.in.idle {
			level = slog.LevelWarn
		}
		log.Log(ctx, level, "process ended", "err", l.in.how)
		l.in.discard()
	case <-s.closed:
		l.in.close(context.WithoutCancel(ctx)) // Close cancelled ctx, which belongs to the start
	}
}

// forget records, once, the end of the current process, or the reason why it did not start.
func (s *supervisor) forget(l *launch, how error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == l {
		s.current = nil
		s.restarts.ended(time.Now(), how)
	}
}

// Close ends the process and waits for its goroutines. It may be called twice, and concurrently.
func (s *supervisor) Close(ctx context.Context) error {
	s.mu.Lock()
	if !isDone(s.closed) {
		close(s.closed)
	}
	if s.current != nil {
		s.current.cancel(ErrClosed)
	}
	s.mu.Unlock()
	s.watching.Wait()
	if s.Broker == nil {
		return nil
	}
	return s.Broker.Close(ctx)
}

// Call calls a method of the process.
func (s *supervisor) Call(ctx context.Context, c *remote.Call) ([]byte, error) {
	in, err := s.instance(ctx)
	if err != nil {
		return nil, err
	}
	ctx, token, done := in.calls.begin(ctx, runningCall{Caller: c.By})
	defer done()
	r := &request{Request: c.Request, timeout: timeLeft(ctx)}
	r.Token = token
	result, err := in.api.call(ctx, r, func(n *note) error {
		if c.Event != nil {
			return c.Event(n.Event)
		}
		if body, err := json.Marshal(n); err == nil && s.Broker != nil && c.By.Tool != nil {
			s.Broker.Do(ctx, c.By, "progress", body) // the broker limits the rate
		}
		return nil
	})
	if refusal, ok := errors.AsType[*sdk.Refusal](err); ok {
		refusal.By = "plugin " + s.Description.Name
	}
	if c.Method == "tool" && errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: the tool %s ended without a result", sdk.ErrWire, s.Description.Tools[c.Tool].ID)
	}
	return result, in.explain(err)
}

const (
	restartWindow   = 10 * time.Minute
	maxRestartDelay = 30 * time.Second
)

// restarts decides when a process that ended unexpectedly may be restarted.
type restarts struct {
	limit int           // maximum restarts within restartWindow; negative: none
	delay time.Duration // before the second restart
	ends  []time.Time   // times of unexpected ends within the window
	after time.Time     // no start before
	last  error         // the latest end
	down  bool
}

// ended records that a process ended, or failed to start, at now. A start that failed without the plugin's fault may succeed later.
func (r *restarts) ended(now time.Time, how error) {
	if hooks.Blameless(how) {
		r.last, r.after = how, now.Add(r.delay)
		return
	}
	r.ends = append(slices.DeleteFunc(r.ends, func(t time.Time) bool { return now.Sub(t) >= restartWindow }), now)
	r.last = how
	r.down = r.down || len(r.ends) > max(r.limit, 0)
	r.after = now.Add(backoff(r.delay, len(r.ends)))
}

// backoff returns the delay of restart number n: none for the first, delay for the second, then doubled each time.
func backoff(delay time.Duration, n int) time.Duration {
	if n < 2 || delay < 0 {
		return 0
	}
	for ; n > 2 && delay < maxRestartDelay; n-- {
		delay *= 2
	}
	return min(delay, maxRestartDelay)
}

// wait returns the time from now until the next start is allowed, or an error if no start is allowed.
func (r *restarts) wait(now time.Time) (time.Duration, error) {
	if r.down {
		return 0, fmt.Errorf("%w: it ended %d times within %s; the last time: %w; fix the plugin, then enable it or restart tenon",
			ErrDown, len(r.ends), restartWindow, r.last)
	}
	wait := max(r.after.Sub(now), 0)
	if wait > 0 && hooks.Blameless(r.last) { // a shortage, during which each call would wait
		return 0, r.last
	}
	return wait, nil
}

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// runner works off the prompts of one session, one after another. It exists while there are any: its
// goroutine claims the session, runs turns until no prompt waits, and gives the session up again.
type runner struct {
	host    *Host
	session string

	mu     sync.Mutex
	queue  []*queued
	cancel context.CancelCauseFunc // ends the current turn; nil between turns
	doomed bool                    // abort came before the turn it is meant for had begun

	beside sync.WaitGroup // requests beside the turn, which write to the session too
}

// queued is a prompt that waits, and who waits for its answer.
type queued struct {
	id     string
	input  PromptInput
	stored bool // it is in the store's queue too
	result chan promptResult
}

type promptResult struct {
	message *sdk.MessageWithParts
	err     error
}

// errAborted is the cause of a turn that the user ended.
var errAborted = errors.New("aborted")

// Prompt gives the session a prompt and waits for its answer: the last assistant message of the turn. A
// prompt for a busy session is stored and answered when the model is next asked. When ctx ends, Prompt
// returns but the turn goes on; Abort ends it.
//
// A turn that failed returns the message with its error and a *TurnError. Errors: ErrNotFound,
// ErrClosed, *store.OwnedError, those of the store.
func (h *Host) Prompt(ctx context.Context, in PromptInput) (*sdk.MessageWithParts, error) {
	q, err := h.submit(ctx, in)
	if err != nil {
		return nil, err
	}
	select {
	case r := <-q.result:
		return r.message, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// submit queues a prompt; its answer comes on the result channel.
func (h *Host) submit(ctx context.Context, in PromptInput) (*queued, error) {
	q := &queued{id: h.ids.New(sdk.PrefixMessage), input: in, result: make(chan promptResult, 1)}
	if h.busy(in.SessionID) && !in.compact {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		if err := h.opts.Store.Submit(ctx, store.Prompt{ID: q.id, SessionID: in.SessionID, Data: data}); err != nil {
			return nil, err
		}
		q.stored = true
	}
	return q, h.enqueue(in.SessionID, q)
}

// Abort ends the turn of the session, if one runs; prompts that wait are answered after it. It reports
// whether there was a turn to end.
func (h *Host) Abort(session string) bool {
	h.mu.Lock()
	r := h.runners[session]
	h.mu.Unlock()
	return r != nil && r.abort()
}

func (h *Host) busy(session string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runners[session] != nil
}

// enqueue hands the prompt to the session's runner, which it starts when there is none.
func (h *Host) enqueue(session string, q *queued) error {
	h.mu.Lock()
	r := h.runners[session]
	if r != nil {
		r.mu.Lock()
		r.queue = append(r.queue, q)
		r.mu.Unlock()
		h.mu.Unlock()
		return nil
	}
	if h.closed {
		h.mu.Unlock()
		return ErrClosed
	}
	r = &runner{host: h, session: session, queue: []*queued{q}}
	h.runners[session] = r
	h.wg.Go(func() { r.run(h.ctx) }) // ends when no prompt waits; Close aborts it and waits
	h.mu.Unlock()
	return nil
}

func (r *runner) abort() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel == nil {
		r.doomed = true
		return true
	}
	r.cancel(errAborted)
	return true
}

// run owns the session from claim to release.
func (r *runner) run(ctx context.Context) {
	c, token, err := r.open(ctx)
	if err != nil {
		r.leave(err)
		return
	}
	for {
		t := newTurn(r, c)
		t.run(ctx)
		if r.leave(nil) {
			break
		}
	}
	r.beside.Wait()
	if err := errors.Join(c.journal.close(), r.host.opts.Store.Release(ctx, token)); err != nil {
		r.host.log.Error("session was not given up cleanly", "session", r.session, "err", err)
	}
}

// leave takes the runner off the host when no prompt waits. With an error it answers all that wait.
func (r *runner) leave(err error) bool {
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && len(r.queue) > 0 && !r.host.closed {
		return false
	}
	if err == nil {
		err = ErrClosed // prompts that came while the host was closing stay in the store's queue
	}
	for _, q := range r.queue {
		q.result <- promptResult{err: err}
	}
	r.queue = nil
	delete(r.host.runners, r.session)
	return true
}

// take returns the next prompt that waits, or nil.
func (r *runner) take() *queued {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		return nil
	}
	q := r.queue[0]
	r.queue = r.queue[1:]
	return q
}

func (r *runner) waiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) > 0
}

// open claims the session and reads what a turn needs. Prompts that an earlier process left unanswered
// come before those that wait here.
func (r *runner) open(ctx context.Context) (*conversation, store.Token, error) {
	h := r.host
	token, err := h.claim(ctx, r.session)
	if err != nil {
		return nil, token, err
	}
	c := &conversation{ids: h.ids}
	if c.session, _, err = h.opts.Store.Session(ctx, r.session); err == nil {
		c.messages, err = loadMessages(ctx, h.opts.Store, r.session)
	}
	var left []store.Prompt
	if err == nil {
		left, err = h.opts.Store.Prompts(ctx, r.session)
	}
	if err != nil {
		return nil, token, errors.Join(err, h.opts.Store.Release(ctx, token))
	}
	r.adopt(left)
	c.journal = newJournal(ctx, h.opts.Store, token, h.publish)
	h.sessionStarted(c.session)
	return c, token, nil
}

// adopt puts stored prompts that nobody here waits for in front of the queue.
func (r *runner) adopt(left []store.Prompt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := map[string]bool{}
	for _, q := range r.queue {
		known[q.id] = true
	}
	var adopted []*queued
	for _, p := range left {
		if known[p.ID] {
			continue
		}
		q := &queued{id: p.ID, stored: true, result: make(chan promptResult, 1)}
		if err := json.Unmarshal(p.Data, &q.input); err != nil {
			r.host.log.Warn("stored prompt cannot be read", "session", r.session, "err", fmt.Errorf("prompt %s: %w", p.ID, err))
			continue
		}
		adopted = append(adopted, q)
	}
	r.queue = append(adopted, r.queue...)
}

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/undo"
	"github.com/tenonhq/tenon/sdk"
)

// ErrWaits is wrapped by the error of a prompt that is still in the store's queue.
var ErrWaits = errors.New("the prompt is stored and will be answered before the next one")

// errAborted is the cause of a turn that the user ended.
var errAborted = errors.New("aborted")

// runner answers the prompts of one session. It exists while prompts wait or are answered: its goroutine claims the session, runs turns
// until no prompt waits, and releases the session.
type runner struct {
	host    *Host
	session string

	changed chan struct{} // signaled when background or queue changes

	mu         sync.Mutex // guards the fields below
	queue      []*queued
	adopted    map[string]*queued      // prompts taken over from the store, by their identifiers
	cancel     context.CancelCauseFunc // ends turnCtx; nil between turns
	turnCtx    context.Context         // of the current turn
	canceled   bool                    // the next turn was aborted before it began
	view       *step                   // the current turn as plugins see it, see show; nil if plugins cannot use it
	visits     int                     // number of running requests of plugins
	background int                     // functions that run in addition to the turn and write to the session, and prompts that are being stored
}

// queued is a prompt, or a job in place of one, that waits for the runner.
type queued struct {
	id     string
	input  PromptInput
	job    func(context.Context, *turn) (state, error) // in place of a prompt: runs between steps or turns
	stored bool                                        // it is in the store's queue too
	kept   bool                                        // its message is stored, or its job is done
	result chan promptResult                           // receives the answer, once
	gen    *generation.Set                             // the generation of the turn that prompts a subagent; nil: the current generation
}

type promptResult struct {
	message *sdk.MessageWithParts
	err     error
}

// Prompt sends a prompt to the session and waits for its answer: the last assistant message of the turn. A prompt for a busy session is
// stored and reaches the model with its next request. When ctx ends, Prompt returns but the turn continues; Abort ends it.
//
// A turn that failed returns the message with its error and a *TurnError, and no message if the prompt did not become part of the session.
// A prompt that a running turn refuses returns the refusal alone. Errors: ErrNotFound, ErrClosed, *store.OwnedError, errors of the store;
// with ErrWaits if the prompt will be answered later and must not be sent again.
func (h *Host) Prompt(ctx context.Context, in PromptInput) (*sdk.MessageWithParts, error) {
	q, err := h.submit(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	return q.wait(ctx)
}

// Submit is Prompt in two steps: it returns once the prompt is queued; wait then waits for the answer. While the session is busy, Waiting lists
// the prompt.
func (h *Host) Submit(ctx context.Context, in PromptInput) (wait func(context.Context) (*sdk.MessageWithParts, error), err error) {
	q, err := h.submit(ctx, in, nil)
	return q.wait, err
}

// submit queues a prompt. g is the generation for the turn that the prompt begins; if it is nil or no longer used, the current one.
func (h *Host) submit(ctx context.Context, in PromptInput, g *generation.Set) (*queued, error) {
	q := &queued{id: h.ids.New(sdk.PrefixMessage), input: in, result: make(chan promptResult, 1), gen: g}
	return q, h.enqueue(ctx, q)
}

// runJob queues a job in place of a prompt and waits for the turn that it begins. A running turn takes it between steps, like a prompt.
func (h *Host) runJob(ctx context.Context, session string, job func(context.Context, *turn) (state, error)) error {
	q := &queued{id: h.ids.New(sdk.PrefixMessage), input: PromptInput{SessionID: session}, job: job, result: make(chan promptResult, 1)}
	if err := h.enqueue(ctx, q); err != nil {
		return err
	}
	_, err := q.wait(ctx)
	return err
}

// enqueue passes a prompt or job to the session's runner, and stores a prompt for a busy session.
func (h *Host) enqueue(ctx context.Context, q *queued) error {
	r, err := h.join(q)
	if r == nil {
		return err
	}
	if q.job == nil {
		var data []byte
		if data, err = json.Marshal(q.input); err == nil {
			err = h.opts.Store.Submit(ctx, store.Prompt{ID: q.id, SessionID: q.input.SessionID, Data: data})
		}
		q.stored = true
	}
	r.add(q, err)
	return err
}

// join returns the runner of a busy session; the caller must call add. Otherwise it starts a runner with the prompt and returns nil.
func (h *Host) join(q *queued) (*runner, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	session := q.input.SessionID
	if r := h.runners[session]; r != nil {
		r.mu.Lock()
		r.background++
		r.mu.Unlock()
		return r, nil
	}
	if h.closed.Load() {
		return nil, ErrClosed
	}
	r := &runner{host: h, session: session, queue: []*queued{q}, adopted: map[string]*queued{}, changed: make(chan struct{}, 1)}
	h.runners[session] = r
	h.wg.Go(func() { r.run(h.ctx) }) // ends when no prompt waits; Close aborts it and waits
	return nil, nil
}

// add queues a prompt after join returned the runner; err is the error of storing it. If the runner adopted the prompt from the store
// meanwhile, that copy is answered.
func (r *runner) add(q *queued, err error) {
	r.mu.Lock()
	r.background--
	if a := r.adopted[q.id]; a != nil {
		q.result = a.result
	} else if err == nil {
		r.queue = append(r.queue, q)
	}
	r.mu.Unlock()
	r.wake()
}

func (q *queued) wait(ctx context.Context) (*sdk.MessageWithParts, error) {
	select {
	case r := <-q.result:
		return r.message, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// reply gives the outcome to the caller that waits for the prompt.
func (q *queued) reply(message *sdk.MessageWithParts, err error) {
	if err != nil && !q.kept {
		message = nil
	}
	if err != nil && q.stored {
		err = fmt.Errorf("%w; %w", err, ErrWaits)
	}
	q.result <- promptResult{message, err}
}

// take returns the change that removes the prompt from the store's queue, if it is there.
func (q *queued) take() []store.Op {
	if !q.stored {
		return nil
	}
	return []store.Op{store.TakePrompt{PromptID: q.id}}
}

// Waiting is a prompt that waits for the session to be free.
type Waiting struct {
	ID    string
	Input PromptInput
}

// Waiting lists the prompts of a session that wait, oldest first.
func (h *Host) Waiting(session string) []Waiting {
	r := h.runner(session)
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Waiting
	for _, q := range r.queue {
		if q.job == nil {
			out = append(out, Waiting{ID: q.id, Input: q.input})
		}
	}
	return out
}

// Withdraw removes a waiting prompt. Its Prompt call returns with the turn. Errors: ErrNotFound if it no longer waits.
func (h *Host) Withdraw(session, id string) error {
	if r := h.runner(session); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, q := range r.queue {
			if q.id == id && q.job == nil {
				if r.view != nil && q.stored { // the process may end before the runner takes it
					journal, taken := r.view.conv.Journal, q.take()
					r.startBackground(func() { journal.Put(taken) })
					q.stored = false
				}
				q.job = func(context.Context, *turn) (state, error) { return stateDone, nil }
				return nil
			}
		}
	}
	return fmt.Errorf("waiting prompt %q: %w", id, ErrNotFound)
}

// Abort ends the running turn of the session or, if a prompt is already waiting, the next turn. Later prompts are answered. It
// reports whether it found such a turn.
func (h *Host) Abort(session string) bool {
	r := h.runner(session)
	return r != nil && r.abort()
}

func (r *runner) abort() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel == nil {
		r.canceled = len(r.queue) > 0
		return r.canceled
	}
	r.cancel(errAborted)
	return true
}

// inTurn reports whether a turn runs.
func (r *runner) inTurn() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cancel != nil
}

// runner returns the runner of a session; nil if the session is idle.
func (h *Host) runner(session string) *runner {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runners[session]
}

// run owns the session from claim to release. If a turn could not be stored, it claims the session again for the prompts that arrived
// since: memory holds more than the store.
func (r *runner) run(ctx context.Context) {
	for again := true; again; {
		c, token, err := r.open(ctx)
		if err != nil {
			for !r.retire(err) {
				r.waitIdle(false)
			}
			return
		}
		again = r.runTurns(ctx, c)
		_ = c.Journal.Close() // runTurns reported its error
		if err := r.host.opts.Store.Release(ctx, token); err != nil && c.Journal.Failed() == nil {
			r.host.log.Error("the session could not be released", "session", r.session, "err", err)
		}
	}
}

// open claims the session, loads its messages, and adopts the prompts that an earlier process left unanswered.
func (r *runner) open(ctx context.Context) (*live.Conversation, store.Token, error) {
	h := r.host
	token, err := h.sessions.Claim(ctx, r.session)
	if err != nil {
		return nil, token, err
	}
	c, damaged, err := live.Open(ctx, h.opts.Store, token, h.ids, h.publish)
	h.sessions.ReportDamaged(damaged)
	if err != nil {
		return nil, token, errors.Join(err, h.opts.Store.Release(ctx, token))
	}
	left, err := h.opts.Store.Prompts(ctx, r.session)
	if err != nil {
		return nil, token, errors.Join(err, c.Journal.Close(), h.opts.Store.Release(ctx, token))
	}
	r.adopt(left)
	h.sessions.Started(c.SessionCopy())
	return c, token, nil
}

// adopt queues stored prompts that are not queued yet, before the others.
func (r *runner) adopt(left []store.Prompt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var adopted []*queued
	for _, p := range left {
		if slices.ContainsFunc(r.queue, func(q *queued) bool { return q.id == p.ID }) {
			continue
		}
		q := &queued{id: p.ID, stored: true, result: make(chan promptResult, 1)}
		if err := json.Unmarshal(p.Data, &q.input); err != nil {
			r.host.log.Warn("stored prompt cannot be read", "session", r.session, "err", fmt.Errorf("prompt %s: %w", p.ID, err))
			continue
		}
		adopted = append(adopted, q)
		r.adopted[p.ID] = q
	}
	r.queue = append(adopted, r.queue...)
}

// runTurns runs turns until no prompt waits and the runner is retired. By then everything is stored, because the next runner claims the
// session. It returns true if prompts wait but nothing can be stored any more.
func (r *runner) runTurns(ctx context.Context, c *live.Conversation) (again bool) {
	files := &undo.Session{Files: &r.host.files, Conversation: c, Background: r.inBackground}
	for {
		if r.waiting() && !r.host.closed.Load() {
			if c.Journal.Failed() != nil {
				return true
			}
			t := &turn{step: step{host: r.host, gen: r.generation(), runner: r, conv: c, undo: files, halted: &halting{}}}
			t.run(ctx) // releases the generation
		}
		reported := c.Journal.Failed() // the turn reported it
		r.waitIdle(true)
		if err := c.Journal.Flush(ctx); reported == nil && err != nil && !errors.Is(err, store.ErrNotFound) { // a deleted session keeps nothing
			r.host.log.Error("background work of the turn was not stored", "session", r.session, "err", err)
		}
		if r.retire(nil) {
			return false
		}
	}
}

func (r *runner) waiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) > 0
}

// next takes the next prompt from the queue, which must not be empty.
func (r *runner) next() *queued {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queue[0]
	r.queue = r.queue[1:]
	return q
}

// generation retains the generation for the turn that the next prompt begins.
func (r *runner) generation() *generation.Set {
	r.mu.Lock()
	var wanted *generation.Set
	if len(r.queue) > 0 {
		wanted = r.queue[0].gen
	}
	r.mu.Unlock()
	if wanted != nil && r.host.plugins.Retain(wanted) {
		return wanted
	}
	return r.host.plugins.Acquire()
}

// inBackground runs f in addition to the turn. The runner keeps the session until f returns.
func (r *runner) inBackground(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.startBackground(f)
}

// startBackground is inBackground for callers that hold mu. f may wait for mu, or for the journal.
func (r *runner) startBackground(f func()) {
	r.background++
	go func() { // ends with f; waitIdle waits for it
		defer r.endBackground()
		f()
	}()
}

func (r *runner) endBackground() {
	r.mu.Lock()
	r.background--
	r.mu.Unlock()
	r.wake()
}

func (r *runner) wake() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// waitIdle waits until nothing runs in the background. With orPrompt, it returns as soon as a prompt waits.
func (r *runner) waitIdle(orPrompt bool) {
	for {
		r.mu.Lock()
		idle, waits := r.background == 0, len(r.queue) > 0
		r.mu.Unlock()
		if idle || orPrompt && waits && !r.host.closed.Load() {
			return
		}
		<-r.changed
	}
}

// retire removes the runner from the host if no prompt waits and nothing runs in the background, and reports whether it did. If err is not
// nil, or the host closes, waiting prompts get the error first.
func (r *runner) retire(err error) bool {
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		if r.background > 0 || len(r.queue) > 0 && !r.host.closed.Load() {
			return false
		}
		err = ErrClosed // prompts that came while the host was closing stay in the store's queue
	}
	for _, q := range r.queue {
		q.reply(nil, err)
	}
	r.queue = nil
	if r.background > 0 {
		return false
	}
	delete(r.host.runners, r.session)
	return true
}

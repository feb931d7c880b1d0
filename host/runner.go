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

// runner works off the prompts of one session, one after another. It exists while there are any: its
// goroutine claims the session, runs turns until no prompt waits, and gives the session up again.
type runner struct {
	host    *Host
	session string

	mu     sync.Mutex
	queue  []*queued
	cancel context.CancelCauseFunc // ends the current turn; nil between turns
	// turnCtx is what cancel ends; it lives as long as the turn.
	turnCtx context.Context
	view    *view // of the current turn; nil when plugins can ask nothing of it
	visits  int   // of plugins, under way
	doomed  bool  // abort came before the turn it is meant for had begun
	beside  int   // requests beside the turn, which write to the session too
	coming  int   // prompts that are being stored and will be queued

	adopted map[string]*queued // prompts taken over from the store, by their identifiers
	wake    chan struct{}      // beside, coming or the queue changed
}

// queued is a prompt that waits, and who waits for its answer.
type queued struct {
	id     string
	input  PromptInput
	job    func(context.Context, *turn) (state, error) // in place of a prompt: what to do between steps or turns
	stored bool                                        // it is in the store's queue too
	kept   bool                                        // its message is stored, or its job is done
	result chan promptResult
	gen    *generation.Set // of the turn that prompts a subagent; nil: the one in force
}

type promptResult struct {
	message *sdk.MessageWithParts
	err     error
}

// errAborted is the cause of a turn that the user ended.
var errAborted = errors.New("aborted")

// ErrWaits is part of the error of a prompt that is still in the store's queue.
var ErrWaits = errors.New("the prompt is stored and is answered before the next one")

// Prompt gives the session a prompt and waits for its answer: the last assistant message of the turn. A
// prompt for a busy session is stored and answered when the model is next asked. When ctx ends, Prompt
// returns but the turn goes on; Abort ends it.
//
// A turn that failed returns the message with its error and a *TurnError, and no message if the prompt did not become part of the session.
// A prompt that a running turn refuses returns the refusal alone. Errors: ErrNotFound, ErrClosed, *store.OwnedError, those of the store;
// with ErrWaits if the prompt is answered later and must not be given again.
func (h *Host) Prompt(ctx context.Context, in PromptInput) (*sdk.MessageWithParts, error) {
	q, err := h.submit(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	return q.wait(ctx)
}

// do runs a job on the session's runner, between the prompts that wait, and waits for the turn that it leads to. It is called while a turn runs, too,
// where a prompt that arrives would join.
func (h *Host) do(ctx context.Context, session string, job func(context.Context, *turn) (state, error)) error {
	q := &queued{id: h.ids.New(sdk.PrefixMessage), input: PromptInput{SessionID: session}, job: job, result: make(chan promptResult, 1)}
	r, err := h.join(q)
	if err != nil {
		return err
	}
	if r != nil {
		r.add(q, nil)
	}
	_, err = q.wait(ctx)
	return err
}

// reply gives the outcome to who waits for the prompt.
func (q *queued) reply(message *sdk.MessageWithParts, err error) {
	if err != nil && !q.kept {
		message = nil
	}
	if err != nil && q.stored {
		err = fmt.Errorf("%w; %w", err, ErrWaits)
	}
	q.result <- promptResult{message, err}
}

func (q *queued) wait(ctx context.Context) (*sdk.MessageWithParts, error) {
	select {
	case r := <-q.result:
		return r.message, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// submit queues a prompt; its answer comes on the result channel. g is the generation that answers it if it begins a turn and
// the generation is used still; nil or else the one in force does.
func (h *Host) submit(ctx context.Context, in PromptInput, g *generation.Set) (*queued, error) {
	q := &queued{id: h.ids.New(sdk.PrefixMessage), input: in, result: make(chan promptResult, 1), gen: g}
	r, err := h.join(q)
	if r == nil {
		return q, err
	}
	data, err := json.Marshal(in)
	if err == nil {
		err = h.opts.Store.Submit(ctx, store.Prompt{ID: q.id, SessionID: in.SessionID, Data: data})
	}
	q.stored = true
	r.add(q, err)
	return q, err
}

// Submit is Prompt in two steps: it returns once the prompt is the session's, and Waiting lists it if the session is busy. wait waits for
// the answer.
func (h *Host) Submit(ctx context.Context, in PromptInput) (wait func(context.Context) (*sdk.MessageWithParts, error), err error) {
	q, err := h.submit(ctx, in, nil)
	return q.wait, err
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

// Withdraw takes back a prompt that waits. Its Prompt call returns with the turn. Errors: ErrNotFound when it does not wait any more.
func (h *Host) Withdraw(session, id string) error {
	if r := h.runner(session); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, q := range r.queue {
			if q.id == id && q.job == nil {
				if r.view != nil && q.stored { // the process may end before the runner comes to it
					r.view.turn.c.Journal.Put([]store.Op{store.TakePrompt{PromptID: id}})
					q.stored = false
				}
				q.job = func(context.Context, *turn) (state, error) { return stateDone, nil }
				return nil
			}
		}
	}
	return fmt.Errorf("waiting prompt %q: %w", id, ErrNotFound)
}

// Abort ends the turn of the session, if one runs; prompts that wait are answered after it. It reports
// whether there was a turn to end.
func (h *Host) Abort(session string) bool {
	r := h.runner(session)
	return r != nil && r.abort()
}

// runner returns the runner of a session; nil when nothing is to be done in it.
func (h *Host) runner(session string) *runner {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runners[session]
}

// join returns the runner of a busy session, which then waits for add. For any other it starts one with
// the prompt and returns nil.
func (h *Host) join(q *queued) (*runner, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	session := q.input.SessionID
	if r := h.runners[session]; r != nil {
		r.mu.Lock()
		r.coming++
		r.mu.Unlock()
		return r, nil
	}
	if h.closed {
		return nil, ErrClosed
	}
	r := &runner{host: h, session: session, queue: []*queued{q}, adopted: map[string]*queued{}, wake: make(chan struct{}, 1)}
	h.runners[session] = r
	h.wg.Go(func() { r.run(h.ctx) }) // ends when no prompt waits; Close aborts it and waits
	return nil, nil
}

// inTurn reports whether a turn runs.
func (r *runner) inTurn() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cancel != nil
}

func (r *runner) abort() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel == nil {
		r.doomed = len(r.queue) > 0
		return r.doomed
	}
	r.cancel(errAborted)
	return true
}

// run owns the session from claim to release. After a turn that could not be stored it takes the session
// up again for prompts that came since: memory holds more than the store.
func (r *runner) run(ctx context.Context) {
	for goOn := true; goOn; {
		c, token, err := r.open(ctx)
		if err != nil {
			for !r.leave(err) {
				r.rest(false)
			}
			return
		}
		goOn = r.answer(ctx, c)
		_ = c.Journal.Close() // answer told of its error
		if err := r.host.opts.Store.Release(ctx, token); err != nil && c.Journal.Failed() == nil {
			r.host.log.Error("the session could not be released", "session", r.session, "err", err)
		}
	}
}

// answer runs turns until no prompt waits and the host knows the runner no more. By then everything is stored, because the
// next runner claims the session. It reports true when prompts wait but nothing can be stored any more.
func (r *runner) answer(ctx context.Context, c *live.Conversation) bool {
	k := &undo.Session{Files: &r.host.files, Conversation: c, Background: r.goBeside}
	for {
		if r.waiting() && !r.host.closing() {
			if c.Journal.Failed() != nil {
				return true
			}
			newTurn(r, c, k).run(ctx)
		}
		told := c.Journal.Failed() // by the turn
		r.rest(true)
		if err := c.Journal.Flush(ctx); told == nil && err != nil && !errors.Is(err, store.ErrNotFound) { // a deleted session keeps nothing
			r.host.log.Error("background work of the turn was not stored", "session", r.session, "err", err)
		}
		if r.leave(nil) {
			return false
		}
	}
}

// add queues a prompt that join was called for, unless it could not be stored. One that was taken over
// from the store meanwhile is answered there.
func (r *runner) add(q *queued, err error) {
	r.mu.Lock()
	r.coming--
	if a := r.adopted[q.id]; a != nil {
		q.result = a.result
	} else if err == nil {
		r.queue = append(r.queue, q)
	}
	r.mu.Unlock()
	r.nudge()
}

// goBeside runs f beside the turn. The session is not given up before it returned.
func (r *runner) goBeside(f func()) {
	r.mu.Lock()
	r.beside++
	r.mu.Unlock()
	go func() { // ends with f; rest waits for it
		defer func() {
			r.mu.Lock()
			r.beside--
			r.mu.Unlock()
			r.nudge()
		}()
		f()
	}()
}

func (r *runner) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// rest waits until nothing runs beside the turn and no prompt is coming or, with orPrompt, until there is
// one to answer.
func (r *runner) rest(orPrompt bool) {
	for {
		r.mu.Lock()
		over, waits := r.beside == 0 && r.coming == 0, len(r.queue) > 0
		r.mu.Unlock()
		if over || orPrompt && waits && !r.host.closing() {
			return
		}
		<-r.wake
	}
}

// leave takes the runner off the host when no prompt waits and nothing runs beside the turn. With an error it first answers all that wait.
func (r *runner) leave(err error) bool {
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := r.coming > 0 || r.beside > 0
	if err == nil {
		if busy || len(r.queue) > 0 && !r.host.closed {
			return false
		}
		err = ErrClosed // prompts that came while the host was closing stay in the store's queue
	}
	for _, q := range r.queue {
		q.reply(nil, err)
	}
	r.queue = nil
	if busy {
		return false
	}
	delete(r.host.runners, r.session)
	return true
}

// generation takes up the generation for the turn that the next prompt begins.
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

// take returns the next prompt that waits; there is one.
func (r *runner) take() *queued {
	r.mu.Lock()
	defer r.mu.Unlock()
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
func (r *runner) open(ctx context.Context) (*live.Conversation, store.Token, error) {
	h := r.host
	token, err := h.sessions.Claim(ctx, r.session)
	if err != nil {
		return nil, token, err
	}
	c, damaged, err := live.Open(ctx, h.opts.Store, token, h.ids, h.publish)
	h.sessions.LeftOut(damaged)
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

// adopt puts stored prompts without a waiting caller in front of the queue.
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

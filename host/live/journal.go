package live

import (
	"context"
	"sync"
	"time"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// deltaInterval is how long streamed text is collected before it is made durable and published. Clients notice no difference from
	// single deltas, and it takes a third of the CPU time.
	deltaInterval = 50 * time.Millisecond
	// putInterval is how long a change waits for others to share its append, unless a caller of Flush waits for it.
	putInterval = 2 * time.Millisecond
	// journalQueue bounds the entries that wait; a full queue slows the stream down, not the memory.
	journalQueue = 256
	// journalBatch bounds the changes and the callers of Flush that wait for an append.
	journalBatch = 512
	// journalText bounds the streamed text that is collected, in bytes: each step to the disk copies it.
	journalText = 256 << 10
)

// journal makes the changes of one session durable, in order, and publishes each event after its change. newJournal starts its goroutine;
// Close ends it and waits.
type journal struct {
	store store.Store
	token store.Token
	pub   func(sdk.Event)
	in    chan entry
	done  chan struct{}

	handover sync.RWMutex // held for reading while an entry is handed over
	closed   bool         // under handover

	mu  sync.Mutex
	err error // the first failed append; nothing is written after it

	// Owned by the goroutine.
	ops     []store.Op
	events  []sdk.Event
	flushes []chan error
	text    *textRun
	size    int         // bytes of text collected since the last append
	last    time.Time   // of the last append
	due     time.Time   // of the next append; zero if nothing was collected
	timer   *time.Timer // fires when due
}

// entry is changes with their events, a piece of text, or a request of Flush.
type entry struct {
	ops    []store.Op
	events []sdk.Event
	text   *textRun
	flush  chan error
}

// textRun is text that belongs to the end of one field of one part.
type textRun struct {
	head  sdk.PartHead
	field string
	text  []byte
	delta string
}

// newJournal starts a journal. pub must not block for long, because the session waits for it.
func newJournal(ctx context.Context, s store.Store, t store.Token, pub func(sdk.Event)) *journal {
	j := &journal{store: s, token: t, pub: pub, in: make(chan entry, journalQueue), done: make(chan struct{}), timer: time.NewTimer(0)}
	j.timer.Stop()
	go j.run(ctx) // ends when Close closes j.in; Close waits for it
	return j
}

// Put records changes and the events that report them. The values they point to must not change any more.
func (j *journal) Put(ops []store.Op, events ...sdk.Event) {
	j.hand(entry{ops: ops, events: events})
}

// append records streamed text of an open part.
func (j *journal) append(head sdk.PartHead, field, delta string) {
	j.hand(entry{text: &textRun{head: head, field: field, delta: delta}})
}

// hand passes the entry to the goroutine. Entries after Close come from abandoned tool calls and are dropped.
func (j *journal) hand(e entry) bool {
	j.handover.RLock()
	defer j.handover.RUnlock()
	if !j.closed {
		j.in <- e
	}
	return !j.closed
}

// Flush waits until everything recorded before is durable and published, and returns the first error that occurred.
func (j *journal) Flush(ctx context.Context) error {
	done := make(chan error, 1)
	if !j.hand(entry{flush: done}) {
		return store.ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Failed returns the error that stopped the journal.
func (j *journal) Failed() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Close writes the remaining entries and ends the goroutine.
func (j *journal) Close() error {
	j.handover.Lock()
	j.closed = true
	close(j.in)
	j.handover.Unlock()
	<-j.done
	return j.Failed()
}

// run collects entries. Entries that wait in the queue share an append.
func (j *journal) run(ctx context.Context) {
	defer close(j.done)
	for {
		select {
		case e, open := <-j.in:
			if !open {
				j.commit(ctx)
				return
			}
			j.take(e)
			wanted := len(j.flushes) > 0 && len(j.in) == 0
			if wanted || len(j.ops)+len(j.flushes) >= journalBatch || j.size >= journalText {
				j.commit(ctx)
			}
		case <-j.timer.C:
			j.commit(ctx)
		}
	}
}

func (j *journal) take(e entry) {
	switch {
	case e.text != nil:
		if j.text != nil && (j.text.head.ID != e.text.head.ID || j.text.field != e.text.field) {
			j.closeText()
		}
		if j.text == nil {
			j.text = e.text
			j.commitBy(j.last.Add(deltaInterval))
		}
		j.text.text = append(j.text.text, e.text.delta...)
		j.size += len(e.text.delta)
	case e.flush != nil:
		j.flushes = append(j.flushes, e.flush)
	default:
		j.closeText()
		j.ops = append(j.ops, e.ops...)
		j.events = append(j.events, e.events...)
		j.commitBy(time.Now().Add(putInterval))
	}
}

// commitBy sets the latest time of the next commit.
func (j *journal) commitBy(due time.Time) {
	if j.due.IsZero() || due.Before(j.due) {
		j.due = due
		j.timer.Reset(time.Until(due))
	}
}

// closeText turns the collected text into a change, so that what follows comes after it.
func (j *journal) closeText() {
	t := j.text
	if t == nil {
		return
	}
	j.text = nil
	text := string(t.text)
	j.ops = append(j.ops, store.AppendText{PartID: t.head.ID, Field: t.field, Text: text})
	j.events = append(j.events, sdk.Event{Type: sdk.EventPartDelta, Properties: &sdk.PartDelta{
		SessionID: t.head.SessionID, MessageID: t.head.MessageID, PartID: t.head.ID, Field: t.field, Delta: text,
	}})
}

// commit makes the collected changes durable, publishes their events and answers the callers of Flush.
func (j *journal) commit(ctx context.Context) {
	j.closeText()
	ops, events, flushes := j.ops, j.events, j.flushes
	j.ops, j.events, j.flushes, j.size = nil, nil, nil, 0
	j.last, j.due = time.Now(), time.Time{}
	j.timer.Stop()
	j.write(ctx, ops, events)
	for _, done := range flushes {
		done <- j.Failed()
	}
}

// write makes the changes durable and publishes their events. After a failure events of changes are dropped: a change that is not stored
// is not published.
func (j *journal) write(ctx context.Context, ops []store.Op, events []sdk.Event) {
	if j.Failed() != nil {
		return
	}
	if len(ops) > 0 {
		if _, err := j.store.Append(ctx, j.token, ops); err != nil {
			j.mu.Lock()
			j.err = err
			j.mu.Unlock()
			return
		}
	}
	for _, e := range events {
		j.pub(e)
	}
}

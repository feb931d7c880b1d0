package host

import (
	"context"
	"errors"
	"time"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

// retry decides what a failed request leads to. It keeps what came of the answer, out of the model's
// sight, and plans the next try.
func (t *turn) retry(err error) (event, error) {
	switch model.Classify(err) {
	case model.ClassOverflow:
		if !t.autoCompact() {
			return evFail, t.overflowError(err)
		}
		t.setAside()
		return evOverflow, nil
	case model.ClassRetry:
	default:
		if errors.Is(err, sdk.ErrAnswerLimit) {
			t.setAside() // it would fill the context of every later request
		}
		return evFail, err
	}
	delay, final := model.RetryDelay(t.g.Config.Retry, err, t.tries)
	if final != nil {
		return evFail, final
	}
	t.tries++
	t.delay = delay
	t.setAside()
	t.c.AddPart(&sdk.RetryPart{PartHead: t.c.NewPart(t.msg), Attempt: t.tries, Error: *t.g.WireError(err), Time: sdk.RetryTime{Created: live.Now()}})
	t.status(sdk.SessionStatus{Type: sdk.StatusRetry, Attempt: t.tries, Message: t.g.Hide(err.Error()), Next: time.Now().Add(t.delay).UnixMilli()})
	return evRetry, nil
}

// setAside closes the parts of a broken answer, keeps the beginning of their texts and marks them so that the model does not get them.
func (t *turn) setAside() {
	for _, p := range t.c.Parts(t.msg.ID) {
		changed := false
		t.c.Locked(func() { changed = live.SetAsidePart(p) })
		if changed {
			t.c.PutPart(p)
		}
	}
}

// wait sleeps until the next try is due.
func (t *turn) wait(ctx context.Context) (event, error) {
	if err := model.Sleep(ctx, t.delay); err != nil {
		return evFail, err
	}
	t.status(sdk.SessionStatus{Type: sdk.StatusBusy})
	return evRetryDue, nil
}

package extensions

import (
	"context"
	"errors"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// Plugins have their time to close after an interrupted load, too.
func TestDiscardAfterInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	closing := errors.New("not closed")
	p := &sdk.Bundle{OnClose: func(ctx context.Context) error {
		closing = ctx.Err()
		return nil
	}}
	s := &Set{Candidates: []*Candidate{{plugin: p}}}
	if err := errors.Join(s.Discard(ctx), closing); err != nil {
		t.Error(err)
	}
}

package ongoing_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/internal/ongoing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOperations(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	o := ongoing.New(ctx)
	cancel()
	bound, done := o.Bound(t.Context())
	defer done()
	release := make(chan struct{})
	if !o.Begin() || !o.Go(func() { <-release }) || o.Life().Err() != nil {
		t.Fatal("an operation did not begin, although only the context of New has ended")
	}
	o.Close()
	o.Close()
	<-bound.Done()
	if o.Begin() || o.Go(func() { t.Error("f was called") }) {
		t.Error("an operation began after Close")
	}
	if err := o.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait with running operations = %v", err)
	}
	o.End()
	close(release)
	if err := o.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

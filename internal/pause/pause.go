// Package pause waits.
package pause

import (
	"context"
	"time"
)

// For waits for d. If ctx ends first, it returns the error of ctx.
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

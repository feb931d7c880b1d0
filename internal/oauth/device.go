package oauth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenonhq/tenon/internal/pause"
)

// ErrExpired is returned if the user did not confirm the code in time.
var ErrExpired = errors.New("the code expired before it was confirmed")

// slowDown is added to the interval if the server asks for it, see RFC 8628, section 3.5.
const slowDown = 5 * time.Second

// Device is the wait for a user to confirm a code on another device.
type Device struct {
	Interval time.Duration // minimum time between two requests
	Lifetime time.Duration // of the code
	// Ask requests the token once. An *Error with CodePending or CodeSlowDown, and a failure of the network or the
	// server, continue the wait.
	Ask func(ctx context.Context) (*Token, error)
	// Wait waits, or returns the error of ctx. Nil: for that time.
	Wait func(ctx context.Context, d time.Duration) error
}

// Poll asks until the server returns a token or refuses. Errors: ErrDenied, ErrExpired, those of Ask.
func (d *Device) Poll(ctx context.Context) (*Token, error) {
	wait := d.Wait
	if wait == nil {
		wait = pause.For
	}
	interval := d.Interval
	for left := d.Lifetime - interval; left >= 0; left -= interval {
		if err := wait(ctx, interval); err != nil {
			return nil, err
		}
		token, err := d.Ask(ctx)
		if Passing(err) { // see RFC 8628, section 3.5
			interval += slowDown
			continue
		}
		var refused *Error
		if !errors.As(err, &refused) {
			return token, err
		}
		switch refused.Code {
		case CodePending:
		case CodeSlowDown:
			interval = max(interval+slowDown, time.Duration(refused.Interval)*time.Second)
		case CodeDenied:
			return nil, fmt.Errorf("%w: %w", ErrDenied, err)
		case CodeExpired:
			return nil, ErrExpired
		default:
			return nil, err
		}
	}
	return nil, ErrExpired
}

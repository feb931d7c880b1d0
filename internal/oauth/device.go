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

// Poll waits for a user to confirm a code on another device. It calls ask, which requests the token once, after each interval until the
// code's lifetime ends. An *Error with CodePending or CodeSlowDown, and a failure of the network or the server, continue the wait.
// Errors: ErrDenied, ErrExpired, errors of ask.
func Poll(ctx context.Context, interval, lifetime time.Duration, ask func(context.Context) (*Token, error)) (*Token, error) {
	for left := lifetime - interval; left >= 0; left -= interval {
		if err := pause.For(ctx, interval); err != nil {
			return nil, err
		}
		token, err := ask(ctx)
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

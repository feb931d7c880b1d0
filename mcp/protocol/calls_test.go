package protocol

import (
	"context"
	"testing"
)

// A question of a server must not reach the user of another session.
func TestCallOf(t *testing.T) {
	t.Parallel()
	first, second, other := &Call{Session: "a"}, &Call{Session: "a"}, &Call{Session: "b"}
	for name, c := range map[string]struct {
		ctx     context.Context
		active  []*Call
		want    *Call
		certain bool
	}{
		"no call":           {t.Context(), nil, nil, false},
		"one call":          {t.Context(), []*Call{first}, first, true},
		"of one session":    {t.Context(), []*Call{first, second}, second, false},
		"of two sessions":   {t.Context(), []*Call{first, other}, nil, false},
		"the call's answer": {context.WithValue(t.Context(), callKey{}, first), []*Call{first, other}, first, true},
	} {
		conn := &Conn{active: c.active}
		if on, certain := conn.callOf(c.ctx); on != c.want || certain != c.certain {
			t.Errorf("%s: callOf() = %+v, %t, want %+v, %t", name, on, certain, c.want, c.certain)
		}
	}
}

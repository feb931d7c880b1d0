package protocol

import (
	"context"
	"testing"
	"time"

	"github.com/tenonhq/tenon/sdk"
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

type titles struct {
	sdk.ToolHost
	last string
}

func (h *titles) Progress(title string, _ sdk.Object) { h.last = title }

// Large numbers have no exponent.
func TestProgressInBytes(t *testing.T) {
	t.Parallel()
	h := &titles{}
	c := &Conn{active: []*Call{{Host: h, token: "t", timer: time.NewTimer(time.Minute), limit: time.Minute}}}
	for want, params := range map[string]map[string]any{
		"5242880 of 10485760": {"progress": 5242880.0, "total": 10485760.0},
		"0.5 of 1":            {"progress": 0.5, "total": 1.0},
		"3":                   {"progress": 3.0},
		"half":                {"progress": 3.0, "message": "half"},
	} {
		params["progressToken"] = "t"
		if c.progress(params); h.last != want {
			t.Errorf("progress %v = %q, want %q", params, h.last, want)
		}
	}
}

package tui

import (
	"context"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/sdk"
)

// connectHost is a host whose sign-ins succeed.
type connectHost struct{ frontend.Host }

func (connectHost) Reload(context.Context) error { return nil }

func (connectHost) TryCredentials(context.Context, string) (string, error) { return "tested", nil }

// TestNoticeAfterSignIn: a plugin that sends a notice late neither fails nor waits.
func TestNoticeAfterSignIn(t *testing.T) {
	t.Parallel()
	m := &model{ctx: t.Context(), host: connectHost{}}
	var user sdk.AuthUser
	cmds := m.store("p", func(_ context.Context, u sdk.AuthUser) error {
		user = u
		u.Notice("first")
		return nil
	})().(tea.BatchMsg)
	ended := make(chan tea.Msg, 1)
	go func() { ended <- cmds[0]() }()
	lines := 0
	for next := cmds[1]; ; lines++ {
		s, ok := next().(step)
		if !ok {
			break
		}
		next = s.show()
	}
	if msg, ok := (<-ended).(connectedMsg); !ok || msg.err != nil || msg.result != "tested" || lines != 2 {
		t.Errorf("the sign-in ended with %+v after %d lines, want 2", msg, lines)
	}
	user.Notice("late")
}

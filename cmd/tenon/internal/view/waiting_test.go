package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/sdk"
)

// TestWaitIsShownUntilTheModelBegins lets time pass after a request: the wait is shown once it is long, and is
// gone with the first word.
func TestWaitIsShownUntilTheModelBegins(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &terminal.Screen{Out: &out, Streams: true, Live: true, Width: func() int { return 80 }}
	v := NewText(s, &out, &out, shownTurn(), false)
	now := time.UnixMilli(10_000)
	v.now = func() time.Time { return now }
	head := sdk.PartHead{ID: "prt_1", SessionID: "ses_root", MessageID: "msg_1"}
	message := &sdk.AssistantMessage{MessageHead: sdk.MessageHead{ID: "msg_1", SessionID: "ses_root"}}
	show := func(typ string, properties any) { v.Event(&sdk.Event{Type: typ, Properties: properties}) }
	show(sdk.EventMessageUpdated, &sdk.MessageInfo{SessionID: "ses_root", Info: message})
	show(sdk.EventPartUpdated, &sdk.PartInfo{SessionID: "ses_root", Part: &sdk.StepStartPart{PartHead: head}})
	step := func(d time.Duration) string {
		out.Reset()
		now = now.Add(d)
		v.Tick(now)
		return out.String()
	}
	if got := step(time.Second); strings.Contains(got, "waiting") {
		t.Errorf("after one second: %q, want nothing of a wait", got)
	}
	if got := step(2 * time.Second); !strings.Contains(got, "waiting for the model · 3 s") {
		t.Errorf("after three seconds: %q, want the wait", got)
	}
	text := head
	text.ID = "prt_2"
	show(sdk.EventPartUpdated, &sdk.PartInfo{SessionID: "ses_root", Part: &sdk.TextPart{PartHead: text, Time: &sdk.PartTime{Start: 1}}})
	if got := step(time.Second); strings.Contains(got, "waiting") {
		t.Errorf("after the first word: %q, want nothing of a wait", got)
	}
}

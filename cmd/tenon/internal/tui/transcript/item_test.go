package transcript

import (
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/sdk"
)

// A turn of a few milliseconds is not shown as one without duration.
func TestFiguresOfShortTurn(t *testing.T) {
	t.Parallel()
	lines := figures("build", "m", 4*time.Millisecond, sdk.Tokens{}, 0)(&draw.Theme{}, 80)
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "4 ms") {
		t.Errorf("no duration: %q", text)
	}
}

// Of two reads of a session, the later one counts, whichever ends first.
func TestLatestRead(t *testing.T) {
	t.Parallel()
	thread := New(&sdk.Session{}, &Look{})
	earlier, later := thread.Read(), thread.Read()
	later(&frontend.History{Session: &sdk.Session{Title: "new"}})
	earlier(&frontend.History{Session: &sdk.Session{Title: "old"}})
	if got := thread.Info.Title; got != "new" {
		t.Errorf("the title is %q", got)
	}
}

// The calls that are in the context are counted by tool: not those before a summary, nor those whose output was removed.
func TestCallsInContext(t *testing.T) {
	t.Parallel()
	thread := New(&sdk.Session{}, &Look{})
	if got := thread.Calls(); got != "" {
		t.Errorf("without calls: %q", got)
	}
	add := func(message, part, tool string, size int, compacted int64) {
		thread.Message(&sdk.AssistantMessage{MessageHead: sdk.MessageHead{ID: message}, Tokens: sdk.Tokens{Input: 1}})
		thread.Part(&sdk.ToolPart{
			PartHead: sdk.PartHead{ID: part, MessageID: message}, Tool: tool,
			State: sdk.ToolState{Output: strings.Repeat("x", size), Time: sdk.ToolTime{Compacted: compacted}},
		})
	}
	add("msg_1", "prt_1", "read", 8000, 0)
	add("msg_2", "prt_2", "bash", 4000, 0)
	add("msg_2", "prt_3", "bash", 4000, 0)
	add("msg_3", "prt_4", "bash", 4000, 1)
	add("msg_3", "prt_5", "read", 4000, 0)
	if got, want := thread.Calls(), "read ~3.0k, bash ~2.0k"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	summarize := func(question, tail, summary string) {
		thread.Message(&sdk.UserMessage{MessageHead: sdk.MessageHead{ID: question}})
		thread.Part(&sdk.CompactionPart{PartHead: sdk.PartHead{ID: "prt_" + question, MessageID: question}, TailStartID: tail})
		thread.Message(&sdk.AssistantMessage{MessageHead: sdk.MessageHead{ID: summary}, Summary: true, Time: sdk.MessageTime{Completed: 1}})
	}
	summarize("msg_4", "msg_3", "msg_5")
	if got, want := thread.Calls(), "read ~1.0k"; got != want {
		t.Errorf("after a summary with a verbatim tail: %q, want %q", got, want)
	}
	summarize("msg_6", "", "msg_7")
	add("msg_8", "prt_6", "grep", 400, 0)
	if got, want := thread.Calls(), "grep ~100"; got != want {
		t.Errorf("after a summary: %q, want %q", got, want)
	}
}

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

package ask

import (
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// TestRoomOfText: a text of any length keeps its content and has room for up to four times of it.
func TestRoomOfText(t *testing.T) {
	t.Parallel()
	piece := strings.Repeat("0123456789", 400)
	for _, size := range []int{0, 4000, minStreamed, minStreamed + 4000, 5 << 20, sdk.MaxModelAnswerBytes, sdk.MaxModelAnswerBytes + 8000} {
		var long text
		for long.Len() < size {
			long.add(piece)
			if long.Len() >= minStreamed && long.Cap() > 4*long.Len()+4000 {
				t.Fatalf("%d bytes of %d have room for %d", long.Len(), size, long.Cap())
			}
		}
		n := long.Len()
		if got := string(long.bytes()); got != strings.Repeat(piece, n/len(piece)) {
			t.Errorf("%d bytes of %d differ from what was added", len(got), n)
		}
		if got := long.prefix(10); n > 10 && (len(got) > 13 || !strings.HasPrefix(got, "0123456")) {
			t.Errorf("prefix of %d bytes = %q", n, got)
		}
	}
	var one text
	one.add(strings.Repeat("x", 3*sdk.MaxModelAnswerBytes))
	one.add("y")
	if !strings.HasSuffix(string(one.bytes()), "xy") {
		t.Error("a long text lost its end")
	}
}

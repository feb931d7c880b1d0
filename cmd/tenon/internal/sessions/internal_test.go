package sessions

import (
	"strings"
	"testing"
)

// The fence is longer than any in the text, however long that is: a loop with a step for each character would not end.
func TestBlock(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"a": 3, "``": 3, "a\n```b\n````` c": 6, strings.Repeat("`", 4<<20): 4<<20 + 1} {
		got := block("", text)
		if fence := strings.Repeat("`", want) + "\n"; !strings.HasPrefix(got, fence) || !strings.HasSuffix(got, "\n"+strings.TrimSuffix(fence, "\n")) {
			t.Errorf("block of %d bytes has %d, want a fence of %d", len(text), len(got), want)
		}
	}
}

package visible_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/visible"
)

// The lines of an output do not depend on the pieces in which it arrives.
func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", visible.MaxLine)
	text := "one\n\n\r\ntwo\r\n" + long + "\n" + long + "y\nthe end"
	want := []string{"one", "two", long, long[:visible.MaxLine-len(" […]")] + " […]", "the end"}
	for _, size := range []int{1, 3, 1000, len(text)} {
		var got []string
		l := visible.Lines{Take: func(line []byte) { got = append(got, string(line)) }}
		for piece := range slices.Chunk([]byte(text), size) {
			l.Write(piece)
		}
		l.Flush()
		l.Flush()
		if !slices.Equal(got, want) {
			t.Errorf("pieces of %d bytes: %d lines, want %d", size, len(got), len(want))
		}
	}
}

package web

import (
	"strings"
	"testing"
)

// TestShortLines has preformatted text whose lines are much shorter than the signs of the quotes around it.
func TestShortLines(t *testing.T) {
	t.Parallel()
	r := &renderer{markdown: true, open: []level{{prefix: strings.Repeat("> ", maxDepth)}}, pre: true}
	r.text(strings.Repeat("a\n", 300_000))
	if n := r.out.Len(); n < MaxBytes || n > MaxBytes+1000 {
		t.Errorf("%d bytes", n)
	}
}

package sessions

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/store"
)

// The excerpt begins near the first word that the text has. Words that cannot be compared do not move it.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	hit := &store.Hit{MessageID: "msg_1", Text: strings.Repeat("x ", 100) + "Needle and " + strings.Repeat("x ", 100) + "pin"}
	const found = "…x x x x x x x x x x Needle and "
	start := strings.Repeat("x ", 20)
	var nested []string // each begins the next: as one expression they are nested too deep
	for i := range 1000 {
		nested = append(nested, strings.Repeat("a", i+1))
	}
	for _, test := range []struct {
		words []string
		want  string
	}{
		{[]string{"pin", `"needle`}, found}, {[]string{"needle", "\xff"}, found}, {[]string{"néedle"}, start}, {[]string{"*"}, start}, {nested, start}, {slices.Concat(nested, []string{"needle"}), start},
	} {
		if got := excerpt(hit, test.words); !strings.HasPrefix(got, test.want) {
			t.Errorf("%.40q: %q, want %q", test.words, got, test.want)
		}
	}
}

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

package sqlite

import (
	"slices"
	"strings"
	"testing"
)

func TestMentions(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("0a", 32), strings.Repeat("9f", 32)
	for text, want := range map[string][]string{
		"": nil, a: {a}, "x" + a + "x" + b: {a, b}, a[:63]: nil, a[:63] + "g": nil, strings.ToUpper(a): nil,
		"1" + a: {"1" + a[:63], a}, a + "1": {a, a[1:] + "1"}, `{"outputPath":"tool-output/` + b + `"}`: {b},
	} {
		var got []string
		mentions([]byte(text), func(hash []byte) { got = append(got, string(hash)) })
		if !slices.Equal(got, want) {
			t.Errorf("mentions(%q) = %q, want %q", text, got, want)
		}
	}
}

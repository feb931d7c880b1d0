package tools

import (
	"strconv"
	"strings"
	"testing"
)

func TestDoomWatch(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		calls string // one letter a call
		want  int    // the period that the last call completes
	}{
		"one call":                      {"a", 0},
		"twice":                         {"aa", 0},
		"three times":                   {"aaa", 1},
		"after others":                  {"bcdaaa", 1},
		"broken by another":             {"aabaa", 0},
		"two by turns":                  {"ababab", 2},
		"two by turns, not yet thrice":  {"ababa", 0},
		"three by turns":                {"abcabcabc", 3},
		"six by turns":                  {strings.Repeat("abcdef", 3), 6},
		"longer cycles are not seen":    {strings.Repeat("abcdefg", 3), 0},
		"a cycle with an inner repeat":  {"aabaabaab", 3},
		"progress with a common call":   {"abacadae", 0},
		"long before the cycle is cut":  {strings.Repeat("xyzuvw", 9) + "qqq", 1},
		"a cycle that begins elsewhere": {"xbababa", 2},
	}
	for name, c := range cases {
		w := &Doom{}
		got := 0
		for _, r := range c.calls {
			got = w.add("tool", []byte(strconv.Quote(string(r))))
		}
		if got != c.want {
			t.Errorf("%s: after %q = %d, want %d", name, c.calls, got, c.want)
		}
	}
}

func TestDoomWatchComparesToolAndArguments(t *testing.T) {
	t.Parallel()
	w := &Doom{}
	w.add("read", []byte(`{"a": 1}`))
	w.add("read", []byte(`{"a":1}`))
	if got := w.add("list", []byte(`{"a":1}`)); got != 0 {
		t.Errorf("another tool with the same arguments = %d, want 0", got)
	}
	w.calls = nil
	w.add("read", []byte(`{"a": 1}`))
	w.add("read", []byte(`{"a":1}`))
	if got := w.add("read", []byte("{\n\"a\":1}")); got != 1 {
		t.Errorf("the same arguments in other white space = %d, want 1", got)
	}
}

package live

import (
	"fmt"
	"testing"
	"time"
)

// TestIDsWhenTheClockStepsBack needs to set the clock, which New does not allow.
func TestIDsWhenTheClockStepsBack(t *testing.T) {
	t.Parallel()
	var ids IDs
	last := uint64(0)
	for i, millis := range []uint64{1000, 1000, 900, 0, 1000, 1001, 5, 2000} {
		n := ids.next(millis)
		if n <= last {
			t.Errorf("call %d at %d: %d after %d", i, millis, n, last)
		}
		last = n
	}
	if want := uint64(2000*4096 + 1); last != want {
		t.Errorf("in a new millisecond: %d, want %d", last, want)
	}
}

// Follow takes over what is ahead, also across the wrap of the 48 bits, and ignores everything else.
func TestFollow(t *testing.T) {
	t.Parallel()
	now := uint64(time.Now().UnixMilli()) * 4096
	ahead := now + 1<<40
	for text, want := range map[string]bool{
		fmt.Sprintf("msg_%012xA", ahead%(1<<48)):       true,
		fmt.Sprintf("msg_%012xA", (now-1<<40)%(1<<48)): false,
		fmt.Sprintf("msg_%011x", ahead%(1<<44)):        false,
		"msg_00000000000gA":                            false,
		"msg":                                          false,
		"":                                             false,
	} {
		var ids IDs
		ids.Follow(text)
		if want != (ids.last == ahead) || want == (ids.last == 0) {
			t.Errorf("Follow(%q) leads to %d, want it followed: %t", text, ids.last, want)
		}
	}
}

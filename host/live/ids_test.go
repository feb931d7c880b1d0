package live_test

import (
	"regexp"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/sdk"
)

func TestIDFormat(t *testing.T) {
	t.Parallel()
	var ids live.IDs
	for _, prefix := range []string{sdk.PrefixSession, sdk.PrefixMessage} {
		want := regexp.MustCompile("^" + prefix + "_[0-9a-f]{12}[0-9A-Za-z]{14}$")
		if id := ids.New(prefix); !want.MatchString(id) {
			t.Errorf("New(%q) = %q, want %s", prefix, id, want)
		}
	}
}

func TestIDOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ids live.IDs
		var messages, sessions []string
		for i := range 5000 { // more than a millisecond's counter holds
			messages = append(messages, ids.New(sdk.PrefixMessage))
			sessions = append(sessions, ids.New(sdk.PrefixSession))
			if i%1000 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		if !slices.IsSorted(messages) {
			t.Error("messages do not ascend")
		}
		slices.Reverse(sessions)
		if !slices.IsSorted(sessions) {
			t.Error("sessions do not descend")
		}
	})
}

func TestIDsAreUnique(t *testing.T) {
	t.Parallel()
	var ids live.IDs
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				id := ids.New(sdk.PrefixPart)[:len("prt_")+12] // time and counter alone
				mu.Lock()
				if seen[id] {
					t.Errorf("%s was made twice", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

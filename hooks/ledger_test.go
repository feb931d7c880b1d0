package hooks_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

func TestConflicts(t *testing.T) {
	t.Parallel()
	entry := func(firing int, plugin string, pointers ...string) hooks.Entry {
		e := hooks.Entry{Firing: firing, Point: sdk.PointChatParams, Plugin: plugin, Subject: "s"}
		for _, p := range pointers {
			e.Changes = append(e.Changes, hooks.EntryChange{Pointer: p})
		}
		return e
	}
	conflict := func(pointer string, plugins ...string) hooks.Conflict {
		return hooks.Conflict{Point: sdk.PointChatParams, Subject: "s", Pointer: pointer, Plugins: plugins, Winner: plugins[len(plugins)-1]}
	}
	cases := map[string]struct {
		entries []hooks.Entry
		want    []hooks.Conflict
	}{
		"nothing":          {nil, nil},
		"same pointer":     {[]hooks.Entry{entry(1, "a", "/x"), entry(1, "b", "/x")}, []hooks.Conflict{conflict("/x", "a", "b")}},
		"different":        {[]hooks.Entry{entry(1, "a", "/x"), entry(1, "b", "/y", "/xy")}, nil},
		"one under":        {[]hooks.Entry{entry(1, "a", "/x/y/0"), entry(1, "b", "/x")}, []hooks.Conflict{conflict("/x", "a", "b")}},
		"one above":        {[]hooks.Entry{entry(1, "a", "/x"), entry(1, "b", "/x/y")}, []hooks.Conflict{conflict("/x", "a", "b")}},
		"siblings":         {[]hooks.Entry{entry(1, "a", "/x/a"), entry(1, "b", "/x/b")}, nil},
		"the whole":        {[]hooks.Entry{entry(1, "a", "/x"), entry(1, "b", "")}, []hooks.Conflict{conflict("", "a", "b")}},
		"two firings":      {[]hooks.Entry{entry(1, "a", "/x"), entry(2, "b", "/x")}, nil},
		"one plugin":       {[]hooks.Entry{entry(1, "a", "/x"), entry(1, "a", "/x")}, nil},
		"three":            {[]hooks.Entry{entry(1, "a", "/x"), entry(1, "b", "/x"), entry(1, "c", "/x")}, []hooks.Conflict{conflict("/x", "a", "b", "c")}},
		"won back":         {[]hooks.Entry{entry(1, "a", "/x"), entry(1, "b", "/x"), entry(1, "a", "/x")}, []hooks.Conflict{{Point: sdk.PointChatParams, Subject: "s", Pointer: "/x", Plugins: []string{"a", "b"}, Winner: "a"}}},
		"firings are kept": {[]hooks.Entry{entry(1, "a", "/x"), entry(2, "a", "/y"), entry(1, "b", "/x"), entry(2, "b", "/y")}, []hooks.Conflict{conflict("/x", "a", "b"), conflict("/y", "a", "b")}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, hooks.Conflicts(c.entries)); diff != "" {
				t.Errorf("Conflicts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLedgerConflict(t *testing.T) {
	t.Parallel()
	e, _ := engine(t, plugin("a", appends("one")), plugin("b", customSystem("two")), plugin("c", appends("three")))
	var l hooks.Ledger
	if _, err := fire(t, e, &l); err != nil {
		t.Fatal(err)
	}
	want := []hooks.Conflict{{Point: sdk.PointChatSystem, Pointer: "/system/0", Plugins: []string{"a", "b"}, Winner: "b"}}
	if diff := cmp.Diff(want, hooks.Conflicts(l.Entries())); diff != "" {
		t.Errorf("Conflicts (-want +got):\n%s", diff)
	}
	raw, err := json.Marshal(l.Entries())
	if err != nil {
		t.Fatal(err)
	}
	var back []hooks.Entry
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l.Entries(), back); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestLedgerFromManyGoroutines(t *testing.T) {
	t.Parallel()
	e, _ := engine(t, plugin("a", appends("one")), plugin("b", appends("two")))
	var l hooks.Ledger
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 20 {
				if _, err := fire(t, e, &l); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	firings := map[int]int{}
	for _, entry := range l.Entries() {
		firings[entry.Firing]++
	}
	if len(firings) != 200 || len(l.Entries()) != 400 {
		t.Errorf("%d firings with %d entries, want 200 with 400", len(firings), len(l.Entries()))
	}
}

// customSystem replaces the first line of the system prompt.
func customSystem(line string) sdk.Hook {
	return system(func(_ context.Context, v *sdk.ChatSystemValue) error {
		v.System[0] = line
		return nil
	})
}

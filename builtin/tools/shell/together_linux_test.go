package shell_test

import (
	"slices"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// TestWidestFirst: the request that says most about a command comes first, and tells what the others are about.
func TestWidestFirst(t *testing.T) {
	t.Parallel()
	f := confinedFixture(t, t.TempDir(), t.TempDir(), sdk.Config{})
	requests, err := f.tool.(sdk.ToolPreparer).Prepare(t.Context(), f.call(t, map[string]any{"command": "echo x > /other/f", "unconfined": true}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{sdk.PermissionUnconfined, "bash", "edit", sdk.PermissionExternalDirectory}
	for i, r := range requests {
		var rest []string
		covers, _ := r.Metadata["covers"].(sdk.Object)
		for key := range covers {
			rest = append(rest, key)
		}
		slices.Sort(rest)
		if after := slices.Sorted(slices.Values(want[i+1:])); r.Permission != want[i] || !slices.Equal(rest, after) || r.Agreed == nil || r.Agreed != requests[0].Agreed {
			t.Errorf("request %d is for %s and tells of %q, want %s and %q", i, r.Permission, rest, want[i], after)
		}
	}
	if len(requests) != len(want) {
		t.Errorf("%d requests, want %d", len(requests), len(want))
	}
	requests, err = f.tool.(sdk.ToolPreparer).Prepare(t.Context(), f.call(t, map[string]any{"command": "eval x", "unconfined": true}))
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := requests[0].Metadata["verbatim"].(string); text == "" || requests[0].Permission != sdk.PermissionUnconfined {
		t.Errorf("the first request, for %s, does not tell what was not understood", requests[0].Permission)
	}
}

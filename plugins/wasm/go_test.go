package wasm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

func toolBefore() sdk.Description {
	return sdk.Description{Hooks: []sdk.HookDescription{{Point: "tool.execute.before", Reads: []string{"/args"}, Writes: []string{"/args"}}}}
}

// A guest in Go, from the cache. TestGuestInGo runs one that was just compiled.
func TestGoGuest(t *testing.T) {
	t.Parallel()
	cache := guestCache(t)
	guest := goGuest(t, "escape")
	for range 2 {
		p := started(t, newRuntime(t, wasm.Options{CacheDir: cache}), remote.Unit{Program: guest, Description: toolBefore()}, host{})
		h := p.(sdk.Hooker).Hooks()[0]
		for range 3 {
			got, err := h.Remote.HandleRemote(t.Context(), &sdk.RemoteCall{Point: h.Point, Input: []byte(`{"sessionID":"a"}`), Value: []byte(`{"args":{"a":1}}`)})
			want := sdk.Answer{Changes: []sdk.Change{{Pointer: "/args/marked", Value: []byte("true")}}}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Fatalf("answer (-want +got), error %v:\n%s", err, diff)
			}
		}
	}
}

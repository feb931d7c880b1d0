package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// The model gets a note about a resource that changed after it was read, until it is read again.
func TestResourceUpdated(t *testing.T) {
	t.Parallel()
	p := ready(t, newTestHost(t), fake(t, "plain"))
	system := func() string {
		v := sdk.ChatSystemValue{}
		for _, h := range p.Hooks() {
			if h.Name == "instructions" {
				if _, err := h.Handler.Handle(t.Context(), &sdk.HookCall{Input: &sdk.ChatInput{Purpose: sdk.PurposeTurn}, Value: &v}); err != nil {
					t.Fatal(err)
				}
			}
		}
		return strings.Join(v.System, "\n")
	}
	args, err := json.Marshal(map[string]string{"uri": "note://a"})
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, p, "fake_read_resource", string(args))
	if strings.Contains(system(), "note://a") {
		t.Error("a resource that did not change is named")
	}
	mustRun(t, p, "fake_touch", `{"text":"note://a"}`)
	eventually(t, "named", func() bool { return strings.Contains(system(), "changed after they were read: note://a") })
	mustRun(t, p, "fake_read_resource", string(args))
	if strings.Contains(system(), "note://a") {
		t.Error("a resource that was read again is named")
	}
}

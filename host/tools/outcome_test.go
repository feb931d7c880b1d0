package tools

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/sdk"
)

// Metadata of a tool, its progress or a hook cannot claim that the call was refused, or that an output is stored that is not.
func TestMetadataOfTheHost(t *testing.T) {
	t.Parallel()
	claims := func() sdk.Object {
		return sdk.Object{"denied": true, "refusedBy": "headless", "interrupted": true, "outputPath": "tool-output/x", "own": 1}
	}
	for name, c := range map[string]struct {
		outcome Outcome
		want    sdk.Object
	}{
		"completed": {Outcome{Kind: sdk.OutcomeOK, Result: &sdk.ToolResult{Metadata: claims()}}, sdk.Object{"own": 1, "truncated": false}},
		"failed":    {Failed(errors.New("no")), sdk.Object{"own": 1}},
		"hooked":    {Outcome{Kind: sdk.OutcomeError, Err: errors.New("no"), Hooked: true, Result: &sdk.ToolResult{Metadata: claims()}}, sdk.Object{"own": 1}},
		"refused":   {Failed(&sdk.Refusal{By: "rule"}), sdk.Object{"own": 1, "denied": true, "refusedBy": "rule"}},
	} {
		state, _ := c.outcome.State(&sdk.ToolState{Metadata: claims()}, &sdk.ToolOutputConfig{})
		if diff := cmp.Diff(c.want, state.Metadata); diff != "" {
			t.Errorf("%s (-want +have):\n%s", name, diff)
		}
	}
}

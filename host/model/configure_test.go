package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/sdk"
)

func TestConfigureVariants(t *testing.T) {
	t.Parallel()
	known := sdk.Model{Variants: map[string]sdk.Object{"low": {"reasoningEffort": "low"}, "high": {"reasoningEffort": "high", "reasoningSummary": "auto"}}}
	got := configureModel(known, sdk.ModelConfig{Variants: map[string]sdk.Object{
		"low": {"disabled": true}, "high": {"reasoningEffort": "xhigh", "disabled": false}, "mine": {"x": 1.0}, "none": {"disabled": true},
	}})
	want := map[string]sdk.Object{"high": {"reasoningEffort": "xhigh", "reasoningSummary": "auto"}, "mine": {"x": 1.0}}
	if d := cmp.Diff(want, got.Variants); d != "" || len(known.Variants["high"]) != 2 || len(known.Variants) != 2 {
		t.Errorf("variants (-want +got):\n%s\nof %v", d, known.Variants)
	}
}

package process_test

import (
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/sdk"
)

func TestHookAnswers(t *testing.T) { eachWire(t, testHookAnswers) }

func testHookAnswers(t *testing.T, w wire) {
	p := w.started(t, process.Options{}, "plain", nil)
	tests := map[string]struct {
		want string // of the error; empty: none
		n    int    // changes
	}{
		"warm":    {"", 1},
		"nothing": {"", 0},
		"throw":   {"panic: boom", 0},
		"error":   {"no luck today", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			answer, err := callHook(t, p, name)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			if len(answer.Changes) != tt.n {
				t.Errorf("changes %+v, want %d", answer.Changes, tt.n)
			}
		})
	}
	answer, _ := callHook(t, p, "warm")
	if c := answer.Changes[0]; c.Pointer != "/temperature" || string(c.Value) != "1.5" {
		t.Errorf("change %+v", c)
	}
	var _ sdk.Plugin = p
}

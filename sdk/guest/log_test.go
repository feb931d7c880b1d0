package guest_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/sdk/guest"
)

func TestLogger(t *testing.T) {
	t.Parallel()
	var got map[string]any
	log := guest.NewLogger(func(_ slog.Level, _ string, attrs map[string]any) { got = attrs })
	log.With("a", 1).WithGroup("g").With("b", true).WithGroup("").Warn("x",
		"err", errors.New("no"), "dur", time.Second, slog.Group("h", "c", "d"), "func", func() {}, "list", []int{1}, "inf", math.Inf(1))
	body, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var flat map[string]any
	if err := json.Unmarshal(body, &flat); err != nil {
		t.Fatal(err)
	}
	if _, ok := flat["g.func"].(string); !ok {
		t.Errorf("a value without JSON: %v", flat["g.func"])
	}
	delete(flat, "g.func")
	want := map[string]any{"a": 1.0, "g.b": true, "g.err": "no", "g.dur": "1s", "g.h.c": "d", "g.list": []any{1.0}, "g.inf": "+Inf"}
	if diff := cmp.Diff(want, flat); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

// The value of With is that of its call: the plugin may change it afterwards, also while another goroutine logs.
func TestLoggerWith(t *testing.T) {
	t.Parallel()
	var got []any
	state := map[string]int{"a": 1}
	log := guest.NewLogger(func(_ slog.Level, _ string, attrs map[string]any) { got = append(got, attrs["state"]) }).With("state", state)
	log.Info("one")
	state["a"] = 2
	log.Info("two")
	want := []any{json.RawMessage(`{"a":1}`), json.RawMessage(`{"a":1}`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

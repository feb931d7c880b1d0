package guest_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/sdk/guest"
)

func TestLogger(t *testing.T) {
	t.Parallel()
	var got map[string]any
	log := guest.NewLogger(func(level slog.Level, message string, attributes json.RawMessage) {
		if level != slog.LevelWarn || message != "x" {
			t.Errorf("line %q of level %s", message, level)
		}
		if err := json.Unmarshal(attributes, &got); err != nil {
			t.Error(err)
		}
	})
	log.With("a", 1, "msg", "m", "level", "l", "time", time.Unix(0, 0).UTC()).WithGroup("g").With("b", true).WithGroup("").Warn("x",
		"err", errors.New("no"), "dur", time.Second, slog.Group("h", "c", "d"), "list", []int{1})
	want := map[string]any{"a": 1.0, "msg": "m", "level": "l", "time": "1970-01-01T00:00:00Z", "g": map[string]any{
		"b": true, "err": "no", "dur": "1s", "h": map[string]any{"c": "d"}, "list": []any{1.0},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

// The value of With is that of its call: the plugin may change it afterwards, also while another goroutine logs.
func TestLoggerWith(t *testing.T) {
	t.Parallel()
	var got []string
	state := map[string]int{"a": 1}
	log := guest.NewLogger(func(_ slog.Level, _ string, attributes json.RawMessage) { got = append(got, string(attributes)) }).With("state", state)
	log.Info("one")
	state["a"] = 2
	log.Info("two")
	if want := `{"state":{"a":1}} {"state":{"a":1}}`; strings.Join(got, " ") != want {
		t.Errorf("values %s, want %s", got, want)
	}
}

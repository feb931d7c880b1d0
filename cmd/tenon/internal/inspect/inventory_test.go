package inspect

import (
	"testing"
)

// A plugin that was not shipped cannot pass for one that was, whatever it says of itself.
func TestSource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ plugin, origin, want string }{
		{"agents", "built in", "built in"},
		{"", "configuration", "configuration"},
		{"deploy", "", "plugin deploy"},
		{"deploy", "built in", "plugin deploy, built in"},
		{"deploy", "a\x1b[31m", `plugin deploy, a\u{1b}[31m`},
	} {
		if got := sourceOf(c.plugin, c.origin); got != c.want {
			t.Errorf("source(%q, %q) = %q, want %q", c.plugin, c.origin, got, c.want)
		}
	}
}

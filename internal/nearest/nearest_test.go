package nearest_test

import (
	"testing"

	"github.com/tenonhq/tenon/internal/nearest"
)

func TestRemedy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		known []string
		want  string
	}{
		{"modle", []string{"model", "mcp"}, `did you mean "model"?`},
		{"MODEL", []string{"model"}, `did you mean "model"?`},
		{"something", []string{"model", "mcp"}, "known here: mcp, model"},
		{"x", nil, "remove it"},
	} {
		if got := nearest.Remedy(c.name, c.known); got != c.want {
			t.Errorf("Remedy(%q, %v) = %q, want %q", c.name, c.known, got, c.want)
		}
	}
}

func TestSlip(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"login": true, "LOGIN": true, "lgoin": true, "logni": true, "logn": true, "loginn": true, "lugin": true,
		"plugin": false, "log": false, "logging": false, "": false,
	} {
		if have := nearest.Slip(name, "login"); have != want {
			t.Errorf("Slip(%q, login) = %v", name, have)
		}
	}
}

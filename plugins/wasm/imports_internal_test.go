package wasm

import (
	"errors"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/wasm/internal/rewrite"
)

// The error about a module's imports is short, whatever their number and their names.
func TestCheckImportsIsShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 1000)
	many := make([]rewrite.Import, 1000)
	for i := range many {
		many[i] = rewrite.Import{Module: long, Name: long}
	}
	for name, c := range map[string]struct {
		list []rewrite.Import
		text string
	}{
		"many":    {many, ", and 990 more"},
		"version": {[]rewrite.Import{{Module: hostPrefix + long, Name: long}}, "of the ABI"},
	} {
		if err := checkImports(c.list, nil); !errors.Is(err, ErrModule) || !strings.Contains(err.Error(), c.text) || len(err.Error()) > 5000 {
			t.Errorf("%s: %.6000v, want %q", name, err, c.text)
		}
	}
}

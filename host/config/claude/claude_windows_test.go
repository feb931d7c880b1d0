package claude_test

import (
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/config/claude"
)

func TestDrives(t *testing.T) {
	t.Parallel()
	r, err := claude.Translate([]byte(`{"permissions": {"deny": ["Read(//c/Users/k)", "Read(/c/x)"]}}`))
	if err != nil || !strings.Contains(string(r.Config), `"c:/Users/k"`) || !strings.Contains(string(r.Config), `"c/x"`) {
		t.Errorf("Translate = %s, %v", r.Config, err)
	}
}

package sessions_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/sessions"
	"github.com/tenonhq/tenon/host/snapshot"
)

// The remedy of a revert that fails is about the file, and not that of a turn.
func TestRevertProblem(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"readable and writable": &fs.PathError{Op: "removeat", Path: "a", Err: fs.ErrPermission},
		"no other program":      fmt.Errorf("a: %w", snapshot.ErrChanged),
	} {
		if f := cli.Remedy(sessions.RevertProblem(err)); !strings.Contains(f.Fix, want) {
			t.Errorf("remedy of %v: %s", err, f.Fix)
		}
	}
}

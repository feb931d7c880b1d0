package install

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/marketplace"
	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/source/oci"
)

// TestRemedies: no error of a source ends with the remedy for unknown errors, to look at the log.
func TestRemedies(t *testing.T) {
	t.Parallel()
	for _, known := range []error{
		archive.ErrUnsafe, install.ErrOutside, install.ErrRenamed, install.ErrMoved, source.ErrRegistry, marketplace.ErrAddress, marketplace.ErrCatalogue, marketplace.ErrConflict, marketplace.ErrList,
		marketplace.ErrNotFound, marketplace.ErrReserved, marketplace.ErrSource, marketplace.ErrStale, marketplace.ErrTaken, oci.ErrArtifact, signature.ErrDenied,
		signature.ErrNoVerifier, signature.ErrSignature, source.ErrAddress, source.ErrDependencies, source.ErrMismatch, source.ErrNotFound, source.ErrOffline,
		source.ErrRef, source.ErrServer, source.ErrTooLarge,
	} {
		f, ok := errors.AsType[*cli.Failure](remedied(fmt.Errorf("plugin x: %w", known)))
		if !ok || f.Fix == "" || !errors.Is(f, known) {
			t.Errorf("%q has no remedy", known)
		}
	}
}

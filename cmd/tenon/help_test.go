package main

import (
	"strings"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/marketplace"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/scaffold"
	"github.com/tenonhq/tenon/plugins/source"
)

// The manual repeats names of files and lists that the code defines.
func TestManualIsUpToDate(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		extensions.ServerLock, pins.Name, marketplace.FileName, install.VendorDir, source.MCPRegistry, source.MinisignSuffix,
		"Carriers and languages: " + strings.Join(scaffold.Kinds(), ", ") + ".",
	} {
		if !strings.Contains(manual, text) {
			t.Errorf("the manual lacks %q", text)
		}
	}
}

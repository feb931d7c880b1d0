package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/pins"
)

// TestHostsAreShown: commands contact the hosts of a project's file only after a question. A vendor directory changes nothing for commands
// that look for something new.
func TestHostsAreShown(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("1", 64)
	archive := `{"name": "a", "ref": "http://127.0.0.1:1/a.zip", "sha256": "` + sum + `", "digest": "sha256:` + sum + `"}`
	index := `{"name": "a", "ref": "oci://127.0.0.1:1/o/a", "local": true, "manifest": "sha256:` + sum + `", "platforms": {"linux/amd64": "sha256:` + sum + `"}}`
	for name, c := range map[string]struct {
		plugin string
		args   []string
	}{
		"outdated": {archive, []string{"plugin", "outdated"}},
		"update":   {archive, []string{"plugin", "update"}},
		"vendor":   {archive, []string{"plugin", "vendor"}},
		"lock":     {index, []string{"plugin", "lock", "--project", "--platform", "linux/arm64"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, "http://127.0.0.1:1")
			tree := filepath.Join(p.work, filepath.FromSlash(install.VendorDir), "trees", sum+".tar.gz")
			if err := errors.Join(os.Mkdir(filepath.Join(p.work, ".git"), 0o755), os.MkdirAll(filepath.Dir(tree), 0o755), os.WriteFile(tree, nil, 0o600),
				os.WriteFile(filepath.Join(p.work, pins.Name), []byte(`{"version": 1, "plugins": [`+c.plugin+`]}`), 0o600)); err != nil {
				t.Fatal(err)
			}
			if _, errs := p.output(t, 2, c.args...); !strings.Contains(errs, "fetches from: 127.0.0.1:1\n") || !strings.Contains(errs, "cannot ask") {
				t.Errorf("%q: %s", c.args, errs)
			}
		})
	}
}

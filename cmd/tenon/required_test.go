package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRequired checks that a run ends when a plugin that the configuration requires does not work, and only then.
func TestRequired(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plugin string
		want   string // of the error
		fix    string
	}{
		"missing":       {"nowhere", `required plugin "nowhere" is rejected`, "tenon plugin list"},
		"not approved":  {"rewrite", `required plugin "rewrite" is not approved`, "tenon plugin trust "},
		"disabled":      {"off", `required plugin "off" is disabled: disabled by you`, "tenon plugin enable "},
		"in quarantine": {"gate", `required plugin "gate" is quarantined: 3 failures in a row`, "tenon plugin enable "},
		"ready":         {"plain", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, required := range []string{"false", "true"} {
				p, _ := newLockV1(t)
				must(t, os.RemoveAll(filepath.Join(p.work, ".tenon", "plugins", "redact")))
				must(t, os.MkdirAll(filepath.Join(filepath.Dir(p.dataDir()), ".config", "tenon"), 0o755))
				content := `{"plugins": [{"path": "` + c.plugin + `", "required": ` + required + `}]}`
				must(t, os.WriteFile(filepath.Join(filepath.Dir(p.dataDir()), ".config", "tenon", "tenon.json"), []byte(content), 0o600))
				code := 0
				if required == "true" && c.want != "" {
					code = 3
				}
				if _, errs := p.output(t, code, "run", "hello"); code != 0 && (!strings.Contains(errs, c.want) || !strings.Contains(errs, c.fix)) {
					t.Errorf("stderr has no %q or no %q:\n%s", c.want, c.fix, errs)
				}
			}
		})
	}
}

package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/sdk"
)

// TestManaged tests an administrator's file, which overrides all other layers.
func TestManaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	managed, project := filepath.Join(dir, "etc", "tenon.json"), filepath.Join(dir, "p", "tenon.json")
	for path, text := range map[string]string{
		managed: `{"model": "a/b", "permission": {"bash": {"rm *": "deny"}}}`,
		project: `{"model": "c/d", "permission": {"bash": {"*": "allow"}}}`,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := config.Options{
		Directory: filepath.Dir(project), Managed: managed, Environ: []string{"TENON_MODEL=e/f"},
	}
	l, err := config.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if l.Config.Model != "a/b" || l.Origin("model") != managed+":1" {
		t.Errorf("model = %q from %q, want the administrator's", l.Config.Model, l.Origin("model"))
	}
	if len(l.Managed) != 1 || l.Managed[0].Action != sdk.ActionDeny || l.Managed[0].Origin != managed+":1" {
		t.Errorf("Managed = %v", l.Managed)
	}
	if len(l.Config.Permission) != 2 || l.Config.Permission[1] != l.Managed[0] {
		t.Errorf("Permission = %v", l.Config.Permission)
	}
	if len(l.ProjectFiles) != 1 || l.ProjectFiles[project] == "" {
		t.Errorf("ProjectFiles = %v, want %s", l.ProjectFiles, project)
	}
	if err := os.WriteFile(managed, []byte(`{"permission": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(t.Context(), o); err == nil {
		t.Error("a bad file of the administrator is ignored")
	}
	o.Managed = filepath.Join(dir, "none.json")
	if _, err := config.Load(t.Context(), o); err != nil {
		t.Errorf("without a file: %v", err)
	}
}

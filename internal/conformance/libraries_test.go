package conformance_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLibraries runs the unit tests of the libraries for other languages.
func TestLibraries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rust := filepath.Join(dir, "rust")
	for name, commands := range map[string][][]string{
		"node":   {{"node", "--test"}},
		"python": {{"python3", "-m", "unittest"}},
		"rust":   {{"rustc", "--edition", "2021", "--test", "-o", rust, "tenon.rs"}, {rust}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range commands {
				cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
				cmd.Dir = filepath.Join(sourceRoot(t), "sdk", name)
				cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", cmd, err, out)
				}
			}
		})
	}
}

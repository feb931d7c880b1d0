package shell_test

import (
	"os/exec"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// BenchmarkStep measures a shell command: bash alone, judged and run by the tool without the sandbox, and with it. See docs/performance.md.
func BenchmarkStep(b *testing.B) {
	b.Run("bash", func(b *testing.B) {
		dir := b.TempDir()
		for b.Loop() {
			cmd := exec.Command("bash", "-c", "echo x")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
	off := false
	for name, config := range map[string]sdk.Config{"open": {Sandbox: sdk.SandboxConfig{Enabled: &off}}, "confined": {}} {
		b.Run(name, func(b *testing.B) {
			home, project := newHome(b)
			f := confinedFixture(b, home, project, config)
			call := f.call(b, map[string]any{"command": "echo x"})
			for b.Loop() {
				if _, err := f.tool.(sdk.ToolPreparer).Prepare(b.Context(), call); err != nil {
					b.Fatal(err)
				}
				if _, err := f.tool.Execute(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

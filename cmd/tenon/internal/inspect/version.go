package inspect

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
)

// buildInfo describes how this binary was built.
type buildInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the repository; "-dirty" when it was changed since
	Time     string `json:"time,omitempty"`     // of the revision
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// build reads the build information in the binary.
func build(version string) buildInfo {
	b := buildInfo{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "dev" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version // built by go install
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				b.Revision += "-dirty"
			}
		}
	}
	return b
}

func versionCommand(a *cli.App) *cobra.Command {
	return a.FormatFlag(&cobra.Command{
		Use: "version", Short: "Print the version",
		Args: cli.Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			b := build(a.Version)
			line := fmt.Sprintf("tenon %s (%s %s/%s", b.Version, b.Go, b.OS, b.Arch)
			if b.Revision != "" {
				line += ", " + b.Revision
			}
			return a.Show(b, func() error { return a.Print(line + ")\n") })
		},
	})
}

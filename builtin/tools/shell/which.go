package shell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// ErrNoShell means that no shell is installed.
var ErrNoShell = errors.New("no shell found")

// shell is the program that runs commands.
type shell struct {
	path    string
	args    []string // arguments before the command
	grammar bool     // reads texts of the grammar as bash does
}

// findShell returns the shell to use: wanted (a path or a name) if the user configured one, else bash, else sh; on Windows bash (Git's, not
// that of the Linux subsystem, which has other files), else PowerShell, else cmd. It ignores shells in the project.
func findShell(wanted, project string) (shell, error) {
	if wanted != "" {
		path, err := projectfs.LookPath(wanted, project)
		if err != nil {
			return shell{}, fmt.Errorf("%w: shell %q of the configuration: %w; correct or remove \"shell\" in tenon.json", ErrNoShell, wanted, err)
		}
		return shellAt(path), nil
	}
	names := []string{"bash", "sh"}
	if runtime.GOOS == "windows" {
		names = []string{"bash", filepath.Join(os.Getenv("ProgramFiles"), "Git", "bin", "bash.exe"), "pwsh", "powershell", "cmd"}
	}
	for _, name := range names {
		path, err := projectfs.LookPath(name, project)
		if err == nil && !strings.Contains(strings.ToLower(path), `\windows\system32\bash`) {
			return shellAt(path), nil
		}
	}
	return shell{}, fmt.Errorf("%w: looked for %s; install one or set \"shell\" in tenon.json", ErrNoShell, strings.Join(names, ", "))
}

func shellAt(path string) shell {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe")
	s := shell{path: path, args: []string{"-c"}}
	switch name {
	case "bash", "sh", "dash", "ash":
		s.grammar = true
	case "busybox":
		s.grammar, s.args = true, []string{"sh", "-c"}
	case "pwsh", "powershell":
		s.args = []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-Command"}
	case "cmd":
		s.args = []string{"/d", "/s", "/c"}
	}
	return s
}

// Package child starts helper processes so that they can be ended as a whole: every one leads a process group of its own, gets a
// clean environment and ends with this process.
//
// What "ends with this process" means when this process is killed and cannot clean up:
//
//   - Linux: the kernel kills the leader (parent death signal). The signal belongs to the thread that started the child, which Go
//     keeps for as long as the process runs, unless a goroutine returns that is locked to its thread; only package confine does that,
//     with threads that have started nothing else.
//     Confined processes have a guard instead, see Cell.
//     Processes the leader started are not killed: one that should not survive has to notice that its leader is gone.
//   - macOS, BSD and Windows have no such signal. There a helper ends when it reads the end of its standard input, which is why
//     whoever starts one gives it a pipe and keeps the other end.
package child

import (
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// Prepare makes cmd the leader of a process group of its own that ends with this process: call it before cmd.Start. A command
// made by exec.CommandContext takes its whole group along when the context ends.
func Prepare(cmd *exec.Cmd) {
	prepare(cmd)
	if cmd.Cancel != nil { // set by exec.CommandContext, and an error without it
		cmd.Cancel = func() error { return Kill(cmd) }
	}
}

// Kill ends the whole group of a started command at once (SIGKILL). A group that is gone is no error. It may be called before and
// after cmd.Wait, but soon after it: the system may give the number of an empty group to another.
func Kill(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return nil
	}
	return kill(cmd.Process)
}

// Terminate asks the whole group of a started command to end (SIGTERM); the caller waits and falls back to Kill. A group that is
// gone is no error. Windows has no such request: there it does what Kill does.
func Terminate(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return nil
	}
	return terminate(cmd.Process)
}

// Environ returns the clean environment of a helper process: what a program needs to run at all (PATH, HOME, the locale, the
// names of the user and of the temporary directory) of base, which has the form of os.Environ, then extra, which wins. Nothing
// else of base is passed on. The result is sorted.
func Environ(base []string, extra map[string]string) []string {
	vars := map[string]string{}
	for _, entry := range base {
		name, value, ok := strings.Cut(entry, "=")
		if ok && passedOn(name) {
			vars[key(name)] = value
		}
	}
	for name, value := range extra {
		vars[key(name)] = value
	}
	out := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, name+"="+vars[name])
	}
	return out
}

// key is the form of a variable's name in which two names of the same variable are equal.
func key(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

func passedOn(name string) bool {
	name = key(name)
	switch name {
	case "PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL":
		return true
	}
	if runtime.GOOS != "windows" {
		return strings.HasPrefix(name, "LC_")
	}
	switch name {
	case "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "HOMEDRIVE",
		"HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROCESSOR_ARCHITECTURE":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

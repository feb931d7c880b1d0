// Package child starts helper processes so that they can be ended as a whole: each leads its own process group, has a
// clean environment and ends with this process.
//
// If this process is killed and cannot clean up, its helpers end as follows:
//
//   - Linux: the kernel kills the leader (parent death signal) when the thread ends that started it. Go keeps threads for as long as the
//     process runs, unless a goroutine returns that is locked to its thread; only package confine does that, with threads that have
//     started nothing else. Confined processes have a guard instead, see cell.
//     Processes started by the leader are not killed: they must notice that their leader has ended.
//   - Windows: the system kills the job of a command that Start started.
//   - macOS and BSD have no such signal. There a helper ends when it reads the end of its standard input, so callers give it a pipe and keep
//     the other end.
package child

import (
	"errors"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Ended returns the error of waiting for a command that Prepare prepared, without exec.ErrWaitDelay: the command succeeded, and a child, such as a
// compiler's server or a shared connection of ssh, keeps its output open.
func Ended(err error) error {
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// Prepare makes cmd the leader of its own process group, which ends with this process: call it before cmd.Start. For a command
// of exec.CommandContext, the end of the context kills the whole group, and children that keep its output open after it has ended delay cmd.Wait for
// at most a second.
func Prepare(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	prepare(cmd.SysProcAttr)
	if cmd.Cancel != nil { // set by exec.CommandContext, and an error without it
		cmd.Cancel, cmd.WaitDelay = func() error { return Kill(cmd) }, time.Second
	}
}

// Environ returns the clean environment of a helper process: the variables of base that every program needs (PATH, HOME, the locale, the
// user name and the temporary directory), and extra, which has precedence. base has the form of os.Environ; no other variable
// is passed on. The result is sorted.
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

// NetworkEnviron is Environ for helper processes that connect to servers. They also receive the proxies, except those with a password, and
// the files of certificates. Some programs prefer a name in lower case, so a name in extra replaces both.
func NetworkEnviron(base []string, extra map[string]string) []string {
	all := map[string]string{}
	for _, name := range strings.Fields(network) {
		if value, ok := Lookup(base, name); ok && !(strings.HasSuffix(strings.ToUpper(name), "_PROXY") && strings.Contains(value, "@")) {
			all[name] = value
		}
	}
	for name := range extra {
		maps.DeleteFunc(all, func(other, _ string) bool { return strings.EqualFold(name, other) })
	}
	maps.Copy(all, extra)
	return Environ(base, all)
}

// Lookup returns a variable of an environment in the form of os.Environ. The last of several values counts, as in a shell. On Windows, names
// are case-insensitive.
func Lookup(environ []string, name string) (value string, ok bool) {
	for _, entry := range slices.Backward(environ) {
		if n, v, found := strings.Cut(entry, "="); found && key(n) == key(name) {
			return v, true
		}
	}
	return "", false
}

// LookPath returns the first program with the name in the PATH of an environment, or "". It ignores relative directories, which would be
// in the project.
func LookPath(name string, environ []string) string {
	list, _ := Lookup(environ, "PATH")
	for _, dir := range filepath.SplitList(list) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); filepath.IsAbs(dir) && err == nil {
			return path
		}
	}
	return ""
}

// GitEnviron returns base without variables that would lead git to another repository, such as those of its hooks. It keeps those for the
// user's settings and connection. Git asks no questions, fetches nothing on demand and prints English messages.
func GitEnviron(base []string, extra ...string) []string {
	out := slices.DeleteFunc(slices.Clone(base), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		settings := strings.HasPrefix(name, "GIT_CONFIG_") && name != "GIT_CONFIG_PARAMETERS" // set by git -c
		return strings.HasPrefix(name, "GIT_") && !settings && name != "GIT_SSH_COMMAND" && name != "GIT_SSL_CAINFO"
	})
	out = append(out, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C")
	return append(out, extra...)
}

// key returns a variable's name in a form for comparison.
func key(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// Variables that every program needs; on Windows, those of the second list as well. Programs that connect to servers need the third list, too.
const (
	passed        = "PATH HOME LANG TZ TMPDIR USER LOGNAME SHELL"
	passedWindows = ` SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT TEMP TMP USERNAME USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA PROGRAMDATA
		PROGRAMFILES PROGRAMFILES(X86) PROCESSOR_ARCHITECTURE`
	network = `HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
		SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE`
)

func passedOn(name string) bool {
	list := passed
	if runtime.GOOS == "windows" {
		list += passedWindows
	}
	return strings.HasPrefix(key(name), "LC_") || slices.Contains(strings.Fields(list), key(name))
}

package manifest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// runtime checks the runtime of the plugin, and selects the command for this platform.
func (r *reader) runtime(v *validator, rt *sdk.Runtime) {
	where := v.at("runtime")
	if c := CarrierOf(sdk.Carrier(rt.Type)); c.check != nil {
		c.check(r, v, where, rt)
		return
	}
	var types []string
	for _, c := range Carriers() {
		types = append(types, quoted(string(c.Name)))
	}
	problem := "is missing"
	if rt.Type != "" {
		problem = "unknown type " + quoted(rt.Type)
	}
	v.add(checked.Join(where, "type"), "write "+strings.Join(types, " or "), "%s", problem)
}

func (r *reader) wasm(v *validator, where string, rt *sdk.Runtime) {
	if len(rt.Command) > 0 || len(rt.Platforms) > 0 {
		v.add(where, "remove command and platforms", "a wasm plugin has a module and no command")
	}
	if rt.MemoryMB < 0 || rt.MemoryMB > sdk.MaxWASMMemoryMB {
		v.add(checked.Join(where, "memory"), "", "%d is not between 1 and %d MiB", rt.MemoryMB, sdk.MaxWASMMemoryMB)
	}
	switch rt.State {
	case "", sdk.StateSession, sdk.StatePlugin:
	default:
		v.add(checked.Join(where, "state"), `write "session" or "plugin"`, "unknown state %s", quoted(rt.State))
	}
	if rt.Module == "" {
		v.add(checked.Join(where, "module"), `write the path of the module, such as "./plugin.wasm"`, "is missing")
		return
	}
	r.packageFile(v, checked.Join(where, "module"), rt.Module, false)
}

func (r *reader) process(v *validator, where string, rt *sdk.Runtime) {
	if rt.Module != "" {
		v.add(checked.Join(where, "module"), "remove it", "a process plugin has a command and no module")
	}
	if rt.MemoryMB != 0 || rt.State != "" {
		v.add(where, "remove memory and state", "memory and state are for wasm plugins")
	}
	for _, platform := range slices.Sorted(maps.Keys(rt.Platforms)) {
		field := checked.Join(checked.Join(where, "platforms"), platform)
		if goos, goarch, ok := strings.Cut(platform, "/"); !ok || !plain(goos, "") || !plain(goarch, "") || goos == "" || goarch == "" {
			v.add(field, `write GOOS/GOARCH, such as "linux/amd64"`, "invalid platform %s", quoted(platform))
		}
		checkCommand(v, field, rt.Platforms[platform])
	}
	own, field := rt.Platforms[platform()], checked.Join(checked.Join(where, "platforms"), platform())
	if own == nil {
		own, field = rt.Command, checked.Join(where, "command")
	}
	switch {
	case len(rt.Command) == 0 && len(rt.Platforms) == 0:
		v.add(checked.Join(where, "command"), `write the program and its arguments, such as ["./bin/plugin"]`, "is missing")
		return
	case len(own) == 0:
		v.add(checked.Join(where, "platforms"), "get a version of the plugin for it", "the plugin does not run on %s", platform())
		return
	}
	if checkCommand(v, field, own) && strings.HasPrefix(own[0], "./") {
		r.packageFile(v, checked.Index(field, 0), own[0], true)
	}
	rt.Command = own
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// checkCommand checks a program and its arguments.
func checkCommand(v *validator, where string, command []string) bool {
	if len(command) == 0 {
		v.add(where, "write the program and its arguments", "is empty")
		return false
	}
	for i, arg := range command {
		if strings.ContainsRune(arg, 0) {
			v.add(checked.Index(where, i), "remove it", "holds a NUL character")
			return false
		}
	}
	if problem := tokenProblem(command[0]); problem != "" {
		v.add(checked.Index(where, 0), "", "%s %s", quoted(command[0]), problem)
		return false
	}
	return true
}

// tokenProblem returns the problem with the name of a program, which must be a bare name or a path that begins with ./.
func tokenProblem(token string) string {
	switch {
	case token == "":
		return "is empty"
	case strings.ContainsFunc(token, hidden):
		return "holds characters that cannot be seen"
	case strings.HasPrefix(token, "./"):
		return pathProblem(token)
	case strings.ContainsAny(token, `/\`) || filepath.VolumeName(token) != "" || token == "." || token == "..":
		return `is neither a bare name nor a path that begins with "./"`
	case strings.HasPrefix(token, "-"):
		return "begins with a dash"
	}
	return ""
}

// pathProblem returns the problem with the text of a path inside of a package.
func pathProblem(p string) string {
	rest, ok := strings.CutPrefix(p, "./")
	switch {
	case !ok:
		return `does not begin with "./"`
	case strings.ContainsFunc(p, hidden):
		return "holds characters that cannot be seen"
	case strings.Contains(p, `\`):
		return `holds a backslash; write "/"`
	case rest == "" || path.IsAbs(rest) || path.Clean(rest) == ".." || strings.HasPrefix(path.Clean(rest), "../"):
		return "leads out of the package; keep it inside"
	}
	return ""
}

// packageFile checks that a path names a regular file inside of the package.
func (r *reader) packageFile(v *validator, where, p string, executable bool) {
	if problem := pathProblem(p); problem != "" {
		v.add(where, "", "%s %s", quoted(p), problem)
		return
	}
	resolved, err := r.folder.resolve(p)
	if errors.Is(err, fs.ErrNotExist) {
		if r.built {
			v.add(where, "build the plugin, or correct the path", "file not found: %s", quoted(p))
		}
		return
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(resolved)
	}
	switch {
	case err != nil:
		v.add(where, "", "%s: %v", quoted(p), err)
	case !info.Mode().IsRegular():
		v.add(where, "name a file", "%s is not a regular file", quoted(p))
	case executable && runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		v.add(where, "make it executable: chmod +x", "%s is not executable", quoted(p))
	}
}

// build checks the command that builds the plugin. It is run by its author alone.
func (v *validator) build(b *sdk.Build) {
	if b == nil {
		return
	}
	where := v.at("build")
	if len(b.Command) == 0 || b.Command[0] == "" {
		v.add(checked.Join(where, "command"), "write the program and its arguments", "is empty")
	}
}

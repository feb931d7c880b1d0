package manifest

import (
	"errors"
	"io/fs"
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
	if c := CarrierOf(sdk.Carrier(rt.Type)); c.Check != nil {
		c.Check(checker{r, v}, where, rt)
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

// checker is the remote.Checker of a package.
type checker struct {
	*reader
	*validator
}

func (c checker) Problem(field, remedy, format string, args ...any) {
	c.add(field, remedy, format, args...)
}

func (c checker) Command(where string, command []string) bool {
	if !c.need(len(command) > 0, where, "write the program and its arguments", "is empty") || !c.noNUL(where, command) {
		return false
	}
	problem := tokenProblem(command[0])
	return c.need(problem == "", checked.Index(where, 0), "", "%s %s", quoted(command[0]), problem)
}

// noNUL checks the arguments of a program.
func (r *report) noNUL(where string, args []string) bool {
	at := slices.IndexFunc(args, func(arg string) bool { return strings.ContainsRune(arg, 0) })
	return r.need(at < 0, checked.Index(where, at), "remove it", "contains a NUL character")
}

// tokenProblem returns the problem with the name of a program, which must be a bare name or a path that begins with ./.
func tokenProblem(token string) string {
	switch {
	case token == "":
		return "is empty"
	case strings.ContainsFunc(token, hidden):
		return "contains invisible characters"
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
		return "contains invisible characters"
	case strings.Contains(p, `\`):
		return `contains a backslash; write "/"`
	case rest == "" || path.IsAbs(rest) || path.Clean(rest) == ".." || strings.HasPrefix(path.Clean(rest), "../"):
		return "leads out of the package; keep it inside"
	}
	return ""
}

func (c checker) File(where, p string, executable bool) {
	r, v := c.reader, c.validator
	if problem := pathProblem(p); !v.need(problem == "", where, "", "%s %s", quoted(p), problem) {
		return
	}
	resolved, err := r.folder.resolve(p)
	if errors.Is(err, fs.ErrNotExist) {
		if r.built {
			v.add(where, "build the plugin, or correct the path", "file not found: %s", quoted(p))
			v.kind = ErrNotBuilt
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

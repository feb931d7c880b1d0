// Package paths resolves the path arguments of tool calls against the
// session's directory, shortens them for display and for permission patterns, and reports which of them
// leave the project.
//
// It compares real paths with the project: all symbolic links are resolved first, even if the last component does not exist.
package paths

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// ErrPath is wrapped by every error about an invalid path argument.
var ErrPath = errors.New("bad path")

// maxPath is the maximum length of a path in bytes: Windows has 32767 characters, Linux 4096 bytes.
const maxPath = 32 << 10

// TooManyBraces reports whether the braces of a doublestar pattern expand to more than a thousand patterns. Matching tries each of them, and
// {,a}{,a}{,a} … doubles their number every four bytes.
func TooManyBraces(pattern string) bool {
	alternatives := 1
	for i, text := range strings.Split(pattern, "{") {
		if i > 0 && alternatives <= 1000 {
			alternatives *= 1 + strings.Count(text, ",")
		}
	}
	return alternatives > 1000
}

// Resolve returns the absolute and clean path of arg: relative paths start at the
// call's directory, ~ and ~/ at the user's home; an empty arg is the call's directory. Callers open
// this path, so that .. has the same meaning for the check and for the system.
func Resolve(call *sdk.ToolCall, arg string) (string, error) {
	if strings.ContainsRune(arg, 0) {
		return "", fmt.Errorf("%w: %q contains a NUL byte", ErrPath, arg)
	}
	if len(arg) > maxPath {
		return "", fmt.Errorf("%w: %d bytes long, expected at most %d", ErrPath, len(arg), maxPath)
	}
	arg = filepath.FromSlash(arg)
	sep, home := string(filepath.Separator), ""
	if arg == "~" || strings.HasPrefix(arg, "~"+sep) {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return "", fmt.Errorf("%w: %q: %w", ErrPath, arg, err)
		}
		arg = home + arg[1:]
	}
	volume := filepath.VolumeName(arg)
	switch {
	case runtime.GOOS == "windows" && strings.ContainsRune(arg[len(volume):], ':'):
		// name:stream is another name of the same file, which rules for the name would not match.
		return "", fmt.Errorf("%w: %q contains a colon", ErrPath, arg)
	case strings.Contains(volume, "?") || strings.HasPrefix(volume, `\\.\`) || projectfs.Remote(arg, call.Directory, call.Worktree, home): // Windows
		return "", fmt.Errorf("%w: %q names a device or a server; use a path with a drive letter; the user can map a drive to the server", ErrPath, arg)
	case filepath.IsAbs(arg):
		return filepath.Clean(arg), nil
	case arg == "":
		return filepath.Clean(call.Directory), nil
	case volume != "":
		return "", fmt.Errorf("%w: %q is relative to a drive; write it absolute", ErrPath, arg)
	case os.IsPathSeparator(arg[0]): // Windows: \x is on the current drive
		return filepath.Clean(filepath.VolumeName(call.Directory) + arg), nil
	}
	return filepath.Join(call.Directory, arg), nil
}

// Title returns abs for display: relative to the worktree with slashes, or unchanged if it is outside.
// The worktree itself is ".".
func Title(call *sdk.ToolCall, abs string) string { return shorten(call.Worktree, abs) }

// Display returns abs in a form that the model can use as an argument: relative to the
// call's directory with slashes, or unchanged if it is outside.
func Display(call *sdk.ToolCall, abs string) string { return shorten(call.Directory, abs) }

func shorten(root, abs string) string {
	rel, err := filepath.Rel(root, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return filepath.ToSlash(abs)
	}
	return filepath.ToSlash(rel)
}

// HoldsSecrets reports whether reading the file requires approval by default: .env and similar names, except
// examples.
func HoldsSecrets(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	return (strings.HasSuffix(name, ".env") || strings.Contains(name, ".env.")) && !strings.HasSuffix(name, ".env.example")
}

// Patterns returns the patterns that permission rules for the file at abs must match: its path relative to the
// worktree with slashes (absolute if it is outside), the same for the target of a symbolic link,
// and for the link itself if its directory is reached through another link, so that links
// cannot bypass rules; and each as directories list it, if the file system ignores case.
func Patterns(call *sdk.ToolCall, abs string) []string {
	patterns := []string{Title(call, abs)}
	if Remote(call, abs) {
		return patterns
	}
	worktree := Real(call.Worktree)
	for _, real := range slices.Compact([]string{realOf(call, abs), Itself(abs)}) { // usually equal
		for _, name := range []string{real, projectfs.Listed(worktree, real)} {
			if rel, ok := projectfs.Rel(worktree, name); ok {
				name = rel
			}
			if target := filepath.ToSlash(name); !slices.Contains(patterns, target) {
				patterns = append(patterns, target)
			}
		}
	}
	return patterns
}

// External returns the permission request for a path outside the project, and whether abs, a file or a
// directory that need not exist, requires it: true if its real path is outside both the call's worktree and its
// directory. Abs must be absolute but need not be clean. It checks both meanings of .. after a symbolic link,
// because programs differ.
func External(call *sdk.ToolCall, abs string) (sdk.PermissionRequest, bool) {
	var patterns, always []string
	for _, real := range []string{realOf(call, abs), realOf(call, filepath.Clean(abs))} {
		if Inside(call, real) {
			continue
		}
		dir := directoryOf(call, real)
		pattern := strings.TrimSuffix(dir, "/") + "/*"
		if slices.Contains(patterns, pattern) {
			continue
		}
		patterns = append(patterns, pattern)
		// A * in the name of the directory must not extend the scope of "always".
		always = append(always, strings.ReplaceAll(strings.TrimSuffix(dir, "/"), "*", "?")+"/*")
	}
	if len(patterns) == 0 {
		return sdk.PermissionRequest{}, false
	}
	return sdk.PermissionRequest{
		Permission: sdk.PermissionExternalDirectory,
		Patterns:   patterns,
		Always:     always,
		Metadata:   sdk.Object{"filepath": abs, "parentDir": strings.TrimSuffix(patterns[0], "/*")},
	}, true
}

// Externals returns one permission request for all paths outside the project, as External does for each; none if all are inside.
func Externals(call *sdk.ToolCall, all ...string) []sdk.PermissionRequest {
	var joined []sdk.PermissionRequest
	for _, path := range all {
		request, outside := External(call, path)
		switch {
		case !outside:
		case joined == nil:
			joined = []sdk.PermissionRequest{request}
		default:
			one := &joined[0]
			one.Metadata = sdk.Object{} // no single file: the patterns name all
			for i, pattern := range request.Patterns {
				if !slices.Contains(one.Patterns, pattern) {
					one.Patterns, one.Always = append(one.Patterns, pattern), append(one.Always, request.Always[i])
				}
			}
		}
	}
	return joined
}

// directoryOf returns, with slashes, real if it is a directory, else its directory.
func directoryOf(call *sdk.ToolCall, real string) string {
	if Remote(call, real) {
		return filepath.ToSlash(filepath.Dir(real))
	}
	if info, err := os.Lstat(real); err != nil || !info.IsDir() {
		real = filepath.Dir(real)
	}
	return filepath.ToSlash(real)
}

// Real returns the real path of an absolute path; see projectfs.Real.
func Real(path string) string { return projectfs.Real(path) }

// Itself returns the real path of abs without following abs itself if it is a link.
func Itself(abs string) string { return filepath.Join(Real(filepath.Dir(abs)), filepath.Base(abs)) }

// located contains the real paths, by clean path, at the time of a call's permission request.
type located map[string]string

// Locate returns the real path of the clean path abs. It is the same for the whole call: if a link in the path has changed since
// the call's permission request, the error wraps projectfs.ErrChanged.
func Locate(call *sdk.ToolCall, abs string) (string, error) {
	real := Real(abs)
	known, ok := call.Prepared.(located)
	if !ok {
		known = located{}
		call.Prepared = known
	}
	if before, ok := known[abs]; ok && before != real {
		return "", fmt.Errorf("%w: %s led to %s, and leads to %s now; try again", projectfs.ErrChanged, abs, before, real)
	}
	known[abs] = real
	return real, nil
}

// Remote reports whether an absolute path is on a server other than the project's; see projectfs.Remote.
func Remote(call *sdk.ToolCall, abs string) bool {
	return projectfs.Remote(abs, call.Directory, call.Worktree)
}

// realOf returns the real path at the time of Locate, or the current one; for a remote path, the clean path.
func realOf(call *sdk.ToolCall, abs string) string {
	if Remote(call, abs) {
		return filepath.Clean(abs)
	}
	if known, ok := call.Prepared.(located); ok && known[abs] != "" {
		return known[abs]
	}
	return Real(abs)
}

// Inside reports whether the real path is in the call's project.
func Inside(call *sdk.ToolCall, real string) bool {
	return projectfs.Within(Real(call.Worktree), real) || projectfs.Within(Real(call.Directory), real)
}

// Trusted returns the real paths below which a call's files are opened; see projectfs.OpenDir.
func Trusted(call *sdk.ToolCall) []string {
	trusted := []string{Real(call.Worktree), Real(call.Directory)}
	if home, err := os.UserHomeDir(); err == nil {
		trusted = append(trusted, Real(home))
	}
	return trusted
}

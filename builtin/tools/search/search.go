package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// maxResults is how many files glob and how many lines grep give; opencode gives as many.
const maxResults = 100

// maxPattern bounds a pattern in bytes.
const maxPattern = 4096

// New returns the plugin.
func New() sdk.Plugin { return plugin{} }

type plugin struct{}

var (
	_ sdk.ToolSource   = plugin{}
	_ sdk.ToolPreparer = globTool{}
	_ sdk.ToolPreparer = grepTool{}
)

// Manifest names the plugin.
func (plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{
		Name:        "search",
		Description: "Finds files by name (glob) and lines by regular expression (grep).",
		Carrier:     sdk.CarrierBuiltin,
	}
}

// Start does nothing: the tools need nothing but their calls.
func (plugin) Start(context.Context, sdk.Host) error { return nil }

// Close does nothing: nothing runs between calls.
func (plugin) Close(context.Context) error { return nil }

// Tools returns glob and grep.
func (plugin) Tools() []sdk.Tool { return []sdk.Tool{globTool{}, grepTool{}} }

// scope is where a call searches and for which names.
type scope struct {
	root string // absolute; a directory, for grep also a file
	real string // where it leads
	// trusted: see projectfs.OpenDir.
	trusted []string
	// names is a doublestar pattern for paths below root, with slashes; empty is all.
	names string
	// depth is how many directories below root names can match in; negative is any number.
	depth int
}

// newScope reads the path argument of a call and a pattern of names. As in an ignore file a pattern
// without a slash matches at any depth; one with slashes starts at the path. What a pattern begins with
// before its first wildcard becomes part of the root, so that it may also lead elsewhere (../, /usr/).
func newScope(call *sdk.ToolCall, path, names string) (scope, error) {
	s, err := parseScope(call, path, names)
	if err != nil {
		return s, err
	}
	s.trusted = paths.Trusted(call)
	s.real, err = paths.Locate(call, s.root)
	return s, err
}

func parseScope(call *sdk.ToolCall, path, names string) (scope, error) {
	root, err := paths.Resolve(call, path)
	if err != nil {
		return scope{}, err
	}
	if names == "" {
		return scope{root: root, depth: -1}, nil
	}
	if os.PathSeparator == '\\' {
		names = strings.ReplaceAll(names, `\`, "/")
	}
	if len(names) > maxPattern || !doublestar.ValidatePattern(names) {
		return scope{}, fmt.Errorf("%w: %.100q: check its brackets and braces", doublestar.ErrBadPattern, names)
	}
	if !strings.Contains(names, "/") {
		return scope{root: root, names: "**/" + names, depth: -1}, nil
	}
	base, rest := doublestar.SplitPattern(names)
	at := *call
	at.Directory = root
	if root, err = paths.Resolve(&at, base); err != nil {
		return scope{}, err
	}
	depth := -1
	if !strings.Contains(rest, "**") {
		depth = strings.Count(rest, "/")
	}
	return scope{root: root, names: rest, depth: depth}, nil
}

// match reports whether the scope wants the file at rel, a path below its root.
func (s *scope) match(rel string) bool {
	return s.names == "" || doublestar.MatchUnvalidated(s.names, rel)
}

// tooDeep reports whether nothing in the directory at rel can match.
func (s *scope) tooDeep(rel string) bool { return s.depth >= 0 && strings.Count(rel, "/") >= s.depth }

// permissions returns what a call needs leave for: the root when it is outside of the project, and key
// with the pattern.
func (s *scope) permissions(call *sdk.ToolCall, key, pattern string) []sdk.PermissionRequest {
	var requests []sdk.PermissionRequest
	if external, needed := paths.External(call, s.root); needed {
		requests = append(requests, external)
	}
	return append(requests, sdk.PermissionRequest{
		Permission: key,
		Patterns:   []string{pattern},
		Always:     []string{"*"},
		Metadata:   sdk.Object{"pattern": pattern, "path": paths.Title(call, s.root)},
	})
}

// dir opens the directory to search in. Its error says what to do when there is nothing, and wraps errFile when it is a file.
func (s *scope) dir(call *sdk.ToolCall) (*projectfs.Dir, error) {
	d, err := projectfs.OpenDir(s.trusted, s.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("path %q does not exist; search in a directory above it", paths.Display(call, s.root))
	case errors.Is(err, syscall.ENOTDIR):
		return nil, errFile
	}
	return d, err
}

// errFile means that the root of a search is not a directory.
var errFile = errors.New("is a file")

// decode reads the arguments of a call.
func decode(call *sdk.ToolCall, args any) error {
	if err := json.Unmarshal(call.Args, args); err != nil {
		return fmt.Errorf("arguments of %s: %w", call.Tool, err)
	}
	return nil
}

// unreadableNote tells the model that the search is not complete.
func unreadableNote(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n(%d %s could not be read)", n, what)
}

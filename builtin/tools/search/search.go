// Package search is the built-in plugin "search": the tools glob, which finds files by name, and grep,
// which finds lines by regular expression. Both skip ignored files (see package ignore)
// and need no installed program.
//
//	glob ─► scope ─► ignore.Walk ─► newest 100 names
//	grep ─► scope ─► ignore.Walk ─► workers: scanner + matcher ─► first 100 lines, in path order
package search

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// maxResults is the maximum number of files from glob and of lines from grep, as in opencode.
const maxResults = 100

// maxPattern is the maximum length of a pattern in bytes.
const maxPattern = 4096

// texts describe the tools; see tool.Spec.
//
//go:embed glob.md glob.json grep.md grep.json
var texts embed.FS

// New returns the plugin.
func New() sdk.Plugin {
	return &sdk.Bundle{
		Info: sdk.Manifest{Name: "search", Description: "Finds files by name (glob) and lines by regular expression (grep).", Carrier: sdk.CarrierBuiltin},
		ToolList: []sdk.Tool{
			tool.Spec[globArgs]{ID: "glob", Texts: texts, Prepare: prepareGlob, Run: findFiles}.Tool(),
			tool.Spec[grepArgs]{ID: "grep", Texts: texts, Prepare: prepareGrep, Run: findLines}.Tool(),
		},
	}
}

// scope is the directory and the file names of a search.
type scope struct {
	root    string   // absolute; a directory, for grep also a file
	real    string   // the real path of root
	trusted []string // see projectfs.OpenDir
	names   string   // doublestar pattern for paths below root, with slashes; empty matches all
	except  bool     // names matches the files that do not belong to the scope
	depth   int      // how many directories below root names can match; negative: any number
}

// newScope parses the path argument of a call and a pattern of names. As in an ignore file, a pattern
// without a slash matches at any depth; one with slashes starts at the path. The part of the pattern
// before its first wildcard becomes part of the root, so it can also lead elsewhere (../, /usr/). After
// an exclamation mark, as in a glob of ripgrep, the pattern excludes files.
func newScope(call *sdk.ToolCall, path, names string) (s scope, err error) {
	s = scope{trusted: paths.Trusted(call), depth: -1}
	if s.root, err = paths.Resolve(call, path); err != nil {
		return s, err
	}
	if os.PathSeparator == '\\' {
		names = strings.ReplaceAll(names, `\`, "/")
	}
	if len(names) > maxPattern || paths.TooManyBraces(names) || !doublestar.ValidatePattern(names) {
		return s, fmt.Errorf("%w: %.100q: check its brackets and braces, and use fewer alternatives", doublestar.ErrBadPattern, names)
	}
	names, s.except = strings.CutPrefix(names, "!")
	switch {
	case names == "":
	case s.except && (strings.HasPrefix(names, "/") || strings.HasPrefix(names, "../")):
		return s, fmt.Errorf("%w: %.100q: what it excludes must be below the path", doublestar.ErrBadPattern, names)
	case s.except:
		names = strings.TrimSuffix(strings.TrimPrefix(names, "./"), "/")
		if !strings.Contains(names, "/") {
			names = "**/" + names
		}
		s.names = names
	case !strings.Contains(names, "/"):
		s.names = "**/" + names
	default:
		at := *call
		at.Directory = s.root
		var base string
		base, s.names = doublestar.SplitPattern(names)
		if s.root, err = paths.Resolve(&at, base); err != nil {
			return s, err
		}
		if !strings.Contains(s.names, "**") {
			s.depth = strings.Count(s.names, "/")
		}
	}
	s.real, err = paths.Locate(call, s.root)
	return s, err
}

// match reports whether the file at rel, a path below the root, belongs to the scope.
func (s *scope) match(rel string) bool {
	switch {
	case s.names == "":
		return true
	case s.except: // as in ripgrep, a directory with all that is in it
		return !doublestar.MatchUnvalidated(s.names, rel) && !doublestar.MatchUnvalidated(s.names+"/**", rel)
	}
	return doublestar.MatchUnvalidated(s.names, rel)
}

// tooDeep reports whether no file in the directory at rel can match.
func (s *scope) tooDeep(rel string) bool { return s.depth >= 0 && strings.Count(rel, "/") >= s.depth }

// permissions returns the permission requests of a call: the root if it is outside the project, and key
// with the pattern.
func (s *scope) permissions(call *sdk.ToolCall, key, pattern string) []sdk.PermissionRequest {
	return append(paths.Externals(call, s.root), sdk.PermissionRequest{
		Permission: key,
		Patterns:   []string{pattern},
		Always:     []string{"*"},
		Metadata:   sdk.Object{"pattern": pattern, "path": paths.Title(call, s.root)},
	})
}

// dir opens the directory to search in. The error is errFile if it is a file.
func (s *scope) dir(call *sdk.ToolCall) (*projectfs.Dir, error) {
	d, err := projectfs.OpenDir(s.trusted, s.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("path %q does not exist (glob patterns are relative to path); search in a directory above it", paths.Display(call, s.root))
	case errors.Is(err, syscall.ENOTDIR):
		return nil, errFile
	}
	return d, err
}

// errFile is returned if the root of a search is not a directory.
var errFile = errors.New("is a file")

// missing returns a note for the model that the search is incomplete; empty if n is 0.
func missing(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n(%d %s)", n, what)
}

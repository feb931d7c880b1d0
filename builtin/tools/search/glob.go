package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/tools/search/ignore"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

type globArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	scope
}

// Resolve implements tool.Resolver.
func (a *globArgs) Resolve(call *sdk.ToolCall) (err error) {
	a.scope, err = newScope(call, a.Path, a.Pattern)
	return err
}

// prepareGlob requests the permission glob with the pattern.
func prepareGlob(_ context.Context, call *sdk.ToolCall, a globArgs) ([]sdk.PermissionRequest, error) {
	return a.permissions(call, "glob", a.Pattern), nil
}

// findFiles finds files by name.
func findFiles(ctx context.Context, call *sdk.ToolCall, s globArgs) (*sdk.ToolResult, error) {
	dir, err := s.dir(call)
	if errors.Is(err, errFile) {
		return nil, fmt.Errorf("path %q is a file; give the directory to search in", paths.Display(call, s.root))
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close() // only read from
	links := projectfs.New([]string{call.Worktree, call.Directory}, nil)
	var found []foundFile
	unreadable, err := walkFiles(ctx, call, dir, &s.scope, func(e ignore.Entry) error {
		if info := describe(links, e); info != nil && info.Mode().IsRegular() {
			found = append(found, foundFile{e.Path, info.ModTime()})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return globResult(call, s.Pattern, found, unreadable), nil
}

// describe returns the information about a file or the target of a link; nil if it does not exist or is outside the project.
func describe(links projectfs.FS, e ignore.Entry) fs.FileInfo {
	var info fs.FileInfo
	var err error
	switch {
	case e.Type().IsRegular():
		info, err = e.Info()
	case e.Type()&fs.ModeSymlink != 0:
		info, err = links.Stat(e.Path)
	}
	if err != nil {
		return nil // deleted meanwhile
	}
	return info
}

func globResult(call *sdk.ToolCall, pattern string, found []foundFile, unreadable int) *sdk.ToolResult {
	slices.SortFunc(found, func(a, b foundFile) int {
		return cmp.Or(b.modified.Compare(a.modified), strings.Compare(a.path, b.path))
	})
	files := found[:min(len(found), maxResults)]
	var b strings.Builder
	for _, f := range files {
		b.WriteString(paths.Display(call, f.path) + "\n")
	}
	switch {
	case len(files) == 0:
		b.WriteString("No files found. Ignored files are left out; read one by its path")
	case len(found) > len(files):
		fmt.Fprintf(&b, "\n(The newest %d of %d files. Use a more specific pattern or path to see others.)", len(files), len(found))
	}
	b.WriteString(missing(unreadable, "directories could not be read"))
	return &sdk.ToolResult{
		Title:    pattern,
		Output:   strings.TrimSuffix(b.String(), "\n"),
		Metadata: sdk.Object{"count": len(files), "truncated": len(found) > len(files)},
	}
}

type foundFile struct {
	path     string
	modified time.Time
}

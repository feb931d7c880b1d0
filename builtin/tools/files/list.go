package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/tools/search/ignore"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// maxListed is the maximum number of entries, as in opencode.
const maxListed = 100

type listArgs struct {
	Path string `json:"path"`
	target
}

// Resolve implements tool.Resolver.
func (a *listArgs) Resolve(call *sdk.ToolCall) (err error) {
	a.target, err = newTarget(call, cmp.Or(a.Path, "."))
	return err
}

// prepareList requests the permission list with the directory.
func prepareList(_ context.Context, call *sdk.ToolCall, a listArgs) ([]sdk.PermissionRequest, error) {
	return a.permissions(call, "list", "path"), misplaced(call, a.target)
}

func runList(ctx context.Context, call *sdk.ToolCall, args listArgs) (*sdk.ToolResult, error) {
	t := args.target
	dir, err := projectfs.OpenDir(t.trusted, t.real)
	switch {
	case errors.Is(err, fs.ErrNotExist): // before ENOTDIR, which it is, too, on Windows
		return nil, notFound(call, t)
	case errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("%q is a file; use read", t.name)
	case err != nil:
		return nil, fmt.Errorf("list %q: %w", t.name, err)
	}
	defer dir.Close() // only read from
	var l listing
	// The upper levels are more useful than the depths of the first directory.
	_, err = ignore.WalkLevels(ctx, dir, t.abs, call.Worktree, func(e ignore.Entry) error {
		if len(l.entries) == maxListed {
			l.cut = true
			return fs.SkipAll
		}
		name := e.Rel
		if e.IsDir() {
			name += "/"
		}
		l.entries = append(l.entries, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l.result(call, t), nil
}

// listing is the shown part of a tree.
type listing struct {
	entries []string // paths below the root with slashes; directories end with one
	cut     bool     // the tree has more entries
}

func (l *listing) result(call *sdk.ToolCall, t target) *sdk.ToolResult {
	// A directory is followed by its content: compare as if the slash were the smallest byte.
	slices.SortFunc(l.entries, func(a, b string) int {
		return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
	})
	var b strings.Builder
	b.WriteString(t.name + "/\n")
	for _, entry := range l.entries {
		name := strings.TrimSuffix(entry, "/")
		b.WriteString(strings.Repeat("  ", strings.Count(name, "/")+1) + path.Base(name) + strings.TrimPrefix(entry, name) + "\n")
	}
	switch {
	case l.cut:
		fmt.Fprintf(&b, "(The first %d entries, upper levels first. List a directory below to see more.)", len(l.entries))
	case len(l.entries) == 0:
		b.WriteString("(empty)")
	}
	return &sdk.ToolResult{
		Title:    paths.Title(call, t.abs),
		Output:   strings.TrimSuffix(b.String(), "\n"),
		Metadata: sdk.Object{"count": len(l.entries), "truncated": l.cut},
	}
}

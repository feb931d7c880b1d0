package search

import (
	"cmp"
	"context"
	_ "embed" // the description
	"encoding/json"
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

//go:embed glob.md
var globDescription string

const globParameters = `{"type":"object","properties":{` +
	`"pattern":{"type":"string","minLength":1,"description":"For example *.go or src/**/*.{ts,tsx}"},` +
	`"path":{"type":"string","description":"Directory to search in; default: the working directory"}},` +
	`"required":["pattern"],"additionalProperties":false}`

type globTool struct{}

type globArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

// Definition describes glob.
func (globTool) Definition() sdk.ToolDefinition {
	return sdk.ToolDefinition{
		ID:          "glob",
		Description: strings.TrimSpace(globDescription),
		Parameters:  json.RawMessage(globParameters),
	}
}

// Prepare requests the permission glob with the pattern.
func (globTool) Prepare(_ context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	args, s, err := readGlobArgs(call)
	if err != nil {
		return nil, err
	}
	return s.permissions(call, "glob", args.Pattern), nil
}

func readGlobArgs(call *sdk.ToolCall) (args globArgs, s scope, err error) {
	if err = decode(call, &args); err == nil {
		s, err = newScope(call, args.Path, args.Pattern)
	}
	return args, s, err
}

// Execute finds the files.
func (globTool) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	args, s, err := readGlobArgs(call)
	if err != nil {
		return nil, err
	}
	dir, err := s.dir(call)
	if errors.Is(err, errFile) {
		return nil, fmt.Errorf("path %q is a file; give the directory to search in", paths.Display(call, s.root))
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close() // only read from
	links := projectfs.New([]string{call.Worktree, call.Directory}, nil)
	found := newest{}
	unreadable, err := ignore.Walk(ctx, dir, s.root, call.Worktree, func(e ignore.Entry) error {
		if e.IsDir() {
			if s.tooDeep(e.Rel) {
				return fs.SkipDir
			}
			return nil
		}
		if !s.match(e.Rel) {
			return nil
		}
		if info := describe(links, e); info != nil && info.Mode().IsRegular() {
			found.add(foundFile{e.Path, info.ModTime()})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return globResult(call, args.Pattern, &found, unreadable), nil
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

func globResult(call *sdk.ToolCall, pattern string, found *newest, unreadable int) *sdk.ToolResult {
	var b strings.Builder
	files := found.sorted()
	for _, f := range files {
		b.WriteString(paths.Display(call, f.path) + "\n")
	}
	switch {
	case len(files) == 0:
		b.WriteString("No files found")
	case found.total > len(files):
		fmt.Fprintf(&b, "\n(The newest %d of %d files. Use a more specific pattern or path to see others.)", len(files), found.total)
	}
	b.WriteString(unreadableNote(unreadable, "directories"))
	return &sdk.ToolResult{
		Title:    pattern,
		Output:   strings.TrimSuffix(b.String(), "\n"),
		Metadata: sdk.Object{"count": len(files), "truncated": found.total > len(files)},
	}
}

type foundFile struct {
	path     string
	modified time.Time
}

// newest keeps the newest of the added files, in bounded memory.
type newest struct {
	files []foundFile // includes the newest; at most 2*maxResults
	total int
}

func (n *newest) add(f foundFile) {
	n.total++
	n.files = append(n.files, f)
	if len(n.files) == 2*maxResults {
		n.files = n.sorted()
	}
}

// sorted returns at most maxResults files, newest first, then by path.
func (n *newest) sorted() []foundFile {
	slices.SortFunc(n.files, func(a, b foundFile) int {
		return cmp.Or(b.modified.Compare(a.modified), strings.Compare(a.path, b.path))
	})
	return n.files[:min(len(n.files), maxResults)]
}

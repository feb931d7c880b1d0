package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

type grepArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Include string `json:"include"`
	scope
	matcher *matcher
}

// grep finds lines.
func grep() sdk.Tool {
	return tool.Spec[grepArgs]{
		ID: "grep", Texts: texts, Read: readGrepArgs, Prepare: prepareGrep, Run: findLines,
	}.Tool()
}

func readGrepArgs(call *sdk.ToolCall) (grepArgs, error) {
	args, err := tool.Args[grepArgs](call)
	if err != nil {
		return args, err
	}
	if args.matcher, err = newMatcher(args.Pattern); err != nil {
		return args, err
	}
	if args.scope, err = newScope(call, args.Path, args.Include); err != nil {
		return args, fmt.Errorf("include: %w", err)
	}
	return args, nil
}

// prepareGrep requests the permission grep with the pattern and, for a file that usually contains secrets, also read:
// the permission to search does not include showing secrets.
func prepareGrep(_ context.Context, call *sdk.ToolCall, args grepArgs) ([]sdk.PermissionRequest, error) {
	requests := args.permissions(call, "grep", args.Pattern)
	if paths.HoldsSecrets(args.root) {
		requests = append(requests, sdk.PermissionRequest{
			Permission: "read", Patterns: paths.Patterns(call, args.root), Always: []string{"*"},
			Metadata: sdk.Object{"filepath": args.root},
		})
	}
	return requests, nil
}

func findLines(ctx context.Context, call *sdk.ToolCall, s grepArgs) (*sdk.ToolResult, error) {
	var out grepOutput
	dir, err := s.dir(call)
	switch {
	case err == nil:
		defer dir.Close() // only read from
		err = searchTree(ctx, call, dir, &s.scope, s.matcher, &out)
	case errors.Is(err, errFile):
		f, _, openErr := projectfs.Open(s.trusted, s.real)
		r := searchFile(ctx, newScanner(s.matcher), s.root, f, openErr)
		if err = r.err; err != nil {
			return nil, fmt.Errorf("path %q: %w", paths.Display(call, s.root), err)
		}
		out.add(r)
	}
	if err != nil {
		return nil, err
	}
	return out.result(call, s.Pattern), nil
}

// grepOutput collects the matches in the order of the output.
type grepOutput struct {
	files      []fileMatches
	matches    int
	unreadable int
	withheld   int // files that usually contain secrets
}

// fileMatches is the result of searching one file.
type fileMatches struct {
	path    string
	matches []match
	err     error
}

// add adds the matches of the next file. It returns full once it has one match more than the output shows.
func (o *grepOutput) add(r fileMatches) (full bool) {
	if r.err != nil {
		o.unreadable++
		return false
	}
	if len(r.matches) > 0 {
		o.files = append(o.files, r)
		o.matches += len(r.matches)
	}
	return o.matches > maxResults
}

func (o *grepOutput) result(call *sdk.ToolCall, pattern string) *sdk.ToolResult {
	truncated := o.matches > maxResults
	shown := min(o.matches, maxResults)
	var b strings.Builder
	switch {
	case shown == 0:
		b.WriteString("No matches found")
	case truncated:
		fmt.Fprintf(&b, "Found more than %d matches; these are the first. Use a more specific pattern, path or include to see others.", shown)
	case shown == 1:
		b.WriteString("Found 1 match")
	default:
		fmt.Fprintf(&b, "Found %d matches", shown)
	}
	left := shown
	for _, f := range o.files {
		if left == 0 {
			break
		}
		fmt.Fprintf(&b, "\n\n%s:", paths.Display(call, f.path))
		for _, m := range f.matches[:min(left, len(f.matches))] {
			fmt.Fprintf(&b, "\n  Line %d: %s", m.line, m.text)
			left--
		}
	}
	b.WriteString(unreadableNote(o.unreadable, "files or directories"))
	if o.withheld > 0 {
		fmt.Fprintf(&b, "\n(%d files such as .env were left out; name one with path to search it)", o.withheld)
	}
	return &sdk.ToolResult{
		Title:    pattern,
		Output:   b.String(),
		Metadata: sdk.Object{"matches": shown, "truncated": truncated},
	}
}

// searchFile searches and closes one file. err is the error of opening it.
func searchFile(ctx context.Context, s *scanner, path string, f *os.File, err error) fileMatches {
	if err != nil {
		return fileMatches{path: path, err: err}
	}
	defer f.Close() // only read: an error of Close tells nothing
	found, err := s.scan(ctx, f, maxResults+1)
	return fileMatches{path: path, matches: found, err: err}
}

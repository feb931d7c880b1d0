package search

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

//go:embed grep.md
var grepDescription string

const grepParameters = `{"type":"object","properties":{` +
	`"pattern":{"type":"string","minLength":1,"description":"Regular expression"},` +
	`"path":{"type":"string","description":"File or directory to search in; default: the working directory"},` +
	`"include":{"type":"string","description":"Glob of the files to search, for example *.go or src/**/*.{ts,tsx}"}},` +
	`"required":["pattern"],"additionalProperties":false}`

type grepTool struct{}

type grepArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Include string `json:"include"`
}

// Definition describes grep.
func (grepTool) Definition() sdk.ToolDefinition {
	return sdk.ToolDefinition{
		ID:          "grep",
		Description: strings.TrimSpace(grepDescription),
		Parameters:  json.RawMessage(grepParameters),
	}
}

// Prepare requests the permission grep with the pattern and, for a file that usually contains secrets, also read:
// the permission to search does not include showing secrets.
func (grepTool) Prepare(_ context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	args, s, _, err := readGrepArgs(call)
	if err != nil {
		return nil, err
	}
	requests := s.permissions(call, "grep", args.Pattern)
	if holdsSecrets(s.root) {
		requests = append(requests, sdk.PermissionRequest{
			Permission: "read", Patterns: paths.Patterns(call, s.root), Always: []string{"*"},
			Metadata: sdk.Object{"filepath": s.root},
		})
	}
	return requests, nil
}

// holdsSecrets reports whether reading the file requires approval by default: .env and similar names, except
// examples.
func holdsSecrets(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	return (strings.HasSuffix(name, ".env") || strings.Contains(name, ".env.")) && !strings.HasSuffix(name, ".env.example")
}

// Execute finds the lines.
func (grepTool) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	args, s, m, err := readGrepArgs(call)
	if err != nil {
		return nil, err
	}
	var out grepOutput
	dir, err := s.dir(call)
	switch {
	case err == nil:
		defer dir.Close() // only read from
		err = searchTree(ctx, call, dir, s, m, &out)
	case errors.Is(err, errFile):
		f, _, openErr := projectfs.Open(s.trusted, s.real)
		r := searchFile(ctx, newScanner(m), s.root, f, openErr)
		if err = r.err; err != nil {
			return nil, fmt.Errorf("path %q: %w", paths.Display(call, s.root), err)
		}
		out.add(r)
	}
	if err != nil {
		return nil, err
	}
	return out.result(call, args.Pattern), nil
}

func readGrepArgs(call *sdk.ToolCall) (grepArgs, *scope, *matcher, error) {
	var args grepArgs
	if err := decode(call, &args); err != nil {
		return args, nil, nil, err
	}
	m, err := newMatcher(args.Pattern)
	if err != nil {
		return args, nil, nil, err
	}
	s, err := newScope(call, args.Path, args.Include)
	if err != nil {
		return args, nil, nil, fmt.Errorf("include: %w", err)
	}
	return args, &s, m, nil
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

// add adds the matches of the next file. It returns full once there is one match more than the output
// shows.
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

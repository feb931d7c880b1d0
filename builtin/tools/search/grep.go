package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/tools/search/ignore"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

type grepArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Include string `json:"include"`
	stored  bool   // Path names a stored output; then scope is empty
	scope
	matcher *matcher
}

// Resolve implements tool.Resolver.
func (a *grepArgs) Resolve(call *sdk.ToolCall) (err error) {
	if a.matcher, err = newMatcher(a.Pattern); err != nil {
		return err
	}
	if a.stored = strings.HasPrefix(a.Path, paths.OutputPrefix); a.stored {
		return nil
	}
	if a.scope, err = newScope(call, a.Path, a.Include); err != nil {
		return fmt.Errorf("include: %w", err)
	}
	return nil
}

// prepareGrep requests the permission grep with the pattern and, for a file that usually contains secrets, also read:
// permission to search is not permission to show secrets. A stored output requires none.
func prepareGrep(_ context.Context, call *sdk.ToolCall, a grepArgs) ([]sdk.PermissionRequest, error) {
	if a.stored {
		return nil, nil
	}
	requests := a.permissions(call, "grep", a.Pattern)
	if paths.HoldsSecrets(a.root) || paths.HoldsSecrets(a.real) {
		requests = append(requests, sdk.PermissionRequest{
			Permission: "read", Patterns: paths.Patterns(call, a.root), Always: []string{"*"},
			Metadata: sdk.Object{"filepath": a.root},
		})
	}
	return requests, nil
}

// findLines finds lines.
func findLines(ctx context.Context, call *sdk.ToolCall, s grepArgs) (*sdk.ToolResult, error) {
	var out grepOutput
	if s.stored {
		output, err := paths.Output(ctx, call, s.Path)
		if err != nil {
			return nil, err
		}
		found, err := newScanner(s.matcher).scan(ctx, strings.NewReader(output), maxResults+1)
		if err != nil {
			return nil, err
		}
		out.add(fileMatches{path: s.Path, matches: found})
		return out.result(call, s.Pattern), nil
	}
	denied := deniedFiles(call, s.root)
	dir, err := s.dir(call)
	switch {
	case err == nil:
		defer dir.Close() // only read from
		err = searchTree(ctx, call, dir, &s.scope, denied, s.matcher, &out)
	case errors.Is(err, errFile) && denied(""):
		out.denied, err = 1, nil
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
	denied     int // files that a rule forbids to read
}

// deniedFiles returns a function that reports whether a rule denies reading a file, given its path below the root, which contains no links.
// Rules that deny every file do not count: an agent may search without the tool read.
func deniedFiles(call *sdk.ToolCall, root string) func(rel string) bool {
	rules, ok := call.Host.(sdk.Denier)
	roots := paths.Patterns(call, root)
	return func(rel string) bool {
		return ok && slices.ContainsFunc(roots, func(root string) bool { return rules.DeniesByName("read", path.Join(root, rel)) })
	}
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
		if !errors.Is(r.err, errBinary) {
			o.unreadable++
		}
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
		if strings.Contains(pattern, `\|`) || strings.Contains(pattern, `\<`) { // the syntax of the program grep
			b.WriteString("\n(\\| and \\< match the characters | and <; alternatives are a|b, and \\b is the edge of a word)")
		}
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
	b.WriteString(missing(o.unreadable, "files or directories could not be read"))
	b.WriteString(missing(o.withheld, "files such as .env were left out; name one with path to search it"))
	b.WriteString(missing(o.denied, "files were left out: the user's rules deny reading them"))
	return &sdk.ToolResult{Title: pattern, Output: b.String(), Metadata: sdk.Object{"matches": shown, "truncated": truncated}}
}

// searchFile searches and closes one file. err is the error of opening it.
func searchFile(ctx context.Context, s *scanner, path string, f *os.File, err error) fileMatches {
	if err != nil {
		return fileMatches{path: path, err: err}
	}
	defer f.Close() // an error of Close does not matter after reading
	found, err := s.scan(ctx, f, maxResults+1)
	return fileMatches{path: path, matches: found, err: err}
}

const (
	// maxWorkers is the maximum number of files searched concurrently; more would only wait for the disk.
	maxWorkers = 8
	// queued is the maximum number of files waiting for a worker or for the output.
	queued = 256
)

// job is the search of one file.
type job struct {
	path string
	rel  string           // below the searched directory
	done chan fileMatches // buffered, so that a worker never waits
}

// opener opens files below a directory. Between files it keeps only the directory of the last one open, and looks that up again for a file in
// another directory: to resolve the whole path of a small file takes longer than to search it. Only one goroutine may use it.
type opener struct {
	top, in *projectfs.Dir
	at      string // the path of in below top
}

func (o *opener) open(rel string) (*os.File, error) {
	at, name := path.Split(rel)
	if o.in == nil || at != o.at {
		o.close()
		var err error
		if o.in, err = o.top.DirBelow(at); err != nil {
			return nil, err
		}
		o.at = at
	}
	f, _, err := o.in.OpenBelow(name)
	return f, err
}

func (o *opener) close() {
	if o.in != nil {
		_ = o.in.Close() // only read from
		o.in = nil
	}
}

// searchTree searches the files below the directory, the scope's root, in parallel and adds their matches to out in the
// order of their paths, until out is full. No goroutine runs after it has returned.
func searchTree(ctx context.Context, call *sdk.ToolCall, dir *projectfs.Dir, s *scope, denied func(string) bool, m *matcher, out *grepOutput) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	work := make(chan job, queued)
	inOrder := make(chan job, queued)
	for range min(runtime.GOMAXPROCS(0), maxWorkers) {
		running.Go(func() {
			scanner, files := newScanner(m), opener{top: dir}
			defer files.close()
			for j := range work {
				f, err := files.open(j.rel)
				j.done <- searchFile(ctx, scanner, j.path, f, err)
			}
		})
	}
	var walked error // written before inOrder is closed, read after
	var unreadable, withheld, hidden int
	running.Go(func() {
		defer close(inOrder)
		defer close(work)
		unreadable, walked = walkFiles(ctx, call, dir, s, func(e ignore.Entry) error {
			switch {
			case !e.Type().IsRegular(): // the target of a link is searched at its own path if it is in the project
				return nil
			case paths.HoldsSecrets(e.Path):
				withheld++
				return nil
			case denied(e.Rel): // not searched, so that a model cannot find out what matches
				hidden++
				return nil
			}
			j := job{e.Path, e.Rel, make(chan fileMatches, 1)}
			for _, queue := range []chan<- job{work, inOrder} { // what is in inOrder will be done
				select {
				case queue <- j:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	})
	for j := range inOrder {
		if out.add(<-j.done) {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	out.unreadable += unreadable
	out.withheld += withheld
	out.denied += hidden
	return walked
}

// walkFiles calls visit with each name of the scope that is not a directory.
func walkFiles(ctx context.Context, call *sdk.ToolCall, dir *projectfs.Dir, s *scope, visit func(ignore.Entry) error) (unreadable int, err error) {
	return ignore.Walk(ctx, dir, s.root, call.Worktree, func(e ignore.Entry) error {
		switch {
		case e.IsDir():
			if s.tooDeep(e.Rel) {
				return fs.SkipDir
			}
		case s.match(e.Rel):
			return visit(e)
		}
		return nil
	})
}

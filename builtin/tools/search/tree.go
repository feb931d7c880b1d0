package search

import (
	"context"
	"io/fs"
	"runtime"
	"sync"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/tools/search/ignore"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

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

// searchTree searches the files below the directory, the scope's root, in parallel and adds their matches to out in the
// order of their paths, until out is full. No goroutine runs after it has returned.
func searchTree(ctx context.Context, call *sdk.ToolCall, dir *projectfs.Dir, s *scope, m *matcher, out *grepOutput) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	work := make(chan job, queued)
	inOrder := make(chan job, queued)
	for range min(runtime.GOMAXPROCS(0), maxWorkers) {
		running.Go(func() {
			scanner := newScanner(m)
			for j := range work {
				f, _, err := dir.OpenBelow(j.rel)
				j.done <- searchFile(ctx, scanner, j.path, f, err)
			}
		})
	}
	var walked error // written before inOrder is closed, read after
	var unreadable, withheld int
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
			}
			j := job{e.Path, e.Rel, make(chan fileMatches, 1)}
			for _, queue := range []chan<- job{inOrder, work} {
				select {
				case queue <- j:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	})
	full, err := collect(ctx, inOrder, out)
	if full || err != nil {
		return err
	}
	out.unreadable += unreadable
	out.withheld += withheld
	return walked
}

// collect adds the results of the jobs to out in their order, until out is full or inOrder is closed.
func collect(ctx context.Context, inOrder <-chan job, out *grepOutput) (full bool, err error) {
	for j := range inOrder {
		select {
		case r := <-j.done:
			if out.add(r) {
				return true, nil
			}
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	return false, ctx.Err()
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

package extensions

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/plugins"
)

const (
	// noticeAfter is the time after which a line names the servers that a run waits for.
	noticeAfter = time.Second
	// maxProbes bounds how many servers are started at the same time.
	maxProbes = 8
)

// Meet starts the servers of the user of which nothing is approved yet, and stores what they offer as approved,
// so that the first run has their tools. It waits for each until its timeout, and for all at most for limit. It calls waiting once with the
// names of those it still waits for, and for how long at most. A server that does not work is not waited for again: LastCheck has the reason,
// and the run reports it.
func (s *Set) Meet(ctx context.Context, limit time.Duration, waiting func(names []string, limit time.Duration)) {
	strangers := slices.DeleteFunc(slices.Clone(s.Candidates), func(c *Candidate) bool {
		return !c.mayStart() || !c.Server.Own || s.broken(c) || s.pinned(c)
	})
	if limit <= 0 || len(strangers) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var done sync.Map // of the candidates
	notice := time.AfterFunc(noticeAfter, func() {
		var names []string
		var longest time.Duration
		for _, c := range strangers {
			if _, ok := done.Load(c); !ok {
				names, longest = append(names, c.Name), max(longest, min(limit, c.Server.Limit()))
			}
		}
		if len(names) > 0 {
			waiting(names, longest)
		}
	})
	defer notice.Stop()
	each(strangers, func(c *Candidate) {
		if ctx.Err() != nil {
			return // not tried, so it is not broken
		}
		defer done.Store(c, true)
		ctx, cancel := context.WithTimeout(ctx, c.Server.Limit())
		defer cancel()
		_ = s.Pin(ctx, c) // the error is in the record
	})
}

// CheckServers starts every server that may run, and records whether it works. ctx limits all of them.
func (s *Set) CheckServers(ctx context.Context) {
	each(slices.DeleteFunc(slices.Clone(s.Candidates), func(c *Candidate) bool { return !c.mayStart() }), func(c *Candidate) {
		_, _ = s.Offered(ctx, c) // the error is in the record
	})
}

// each calls f for all candidates, several at the same time, and waits.
func each(list []*Candidate, f func(*Candidate)) {
	var running sync.WaitGroup
	tokens := make(chan struct{}, maxProbes)
	for _, c := range list {
		tokens <- struct{}{}
		running.Go(func() { // ends with f
			defer func() { <-tokens }()
			f(c)
		})
	}
	running.Wait()
}

// LastCheck returns the outcome of the last start of a server; nil if it was never started.
func (s *Set) LastCheck(c *Candidate) *mcp.Check { return mcp.LastCheck(s.serverDir(), *c.Server) }

// broken reports whether a server did not work when it was last started.
func (s *Set) broken(c *Candidate) bool {
	last := s.LastCheck(c)
	return last != nil && last.Error != ""
}

// mayStart reports whether the candidate is a server that runs may start.
func (c *Candidate) mayStart() bool { return c.Server != nil && c.State == plugins.StateReady }

// pinned reports whether anything of a server is approved.
func (s *Set) pinned(c *Candidate) bool {
	pin, err := mcp.FilePins(s.serverDir()).Load(*c.Server)
	return err != nil || pin != nil // the plugin reports the error
}

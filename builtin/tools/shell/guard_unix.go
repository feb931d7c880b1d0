//go:build unix

package shell

import (
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/tenonhq/tenon/internal/child"
)

// guard runs a small process that kills the running commands if the host is killed. It starts with the first command. The zero value is ready; safe
// for concurrent use.
type guard struct {
	mu      sync.Mutex
	process *child.Guard
	token   string // mark in the environment of every command since the guard started
	calls   int    // number of those commands
	tmp     string // directory that the guard removes
}

// expect marks a command that is about to start, and starts the guard unless it runs; a killed guard is replaced. If the host dies, the guard
// uses the mark to find the command and everything that it started, and removes the directory tmp unless that is "".
func (g *guard) expect(group *group, tmp string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process != nil {
		select {
		case <-g.process.Ended:
			_ = g.stop() // an error is expected: the guard was killed
		default:
		}
	}
	if g.process == nil {
		var err error
		g.token, g.tmp = rand.Text(), ""
		if g.process, err = child.StartGuard(tokenVariable + "=" + g.token + "."); err != nil {
			return err
		}
	}
	if tmp != g.tmp {
		g.tmp = tmp
		g.process.Directory(tmp)
	}
	g.calls++
	group.token, group.guard = fmt.Sprintf("%s.%d", g.token, g.calls), g.process.PID
	return nil
}

// add lets the guard watch the group of a command that has started.
func (g *guard) add(group *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process != nil {
		g.process.Add(group.pid)
	}
}

// remove tells the guard that a group has ended.
func (g *guard) remove(group *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process != nil {
		g.process.Remove(group.pid)
	}
}

// close ends the guard, which kills the groups that it still watches.
func (g *guard) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stop()
}

func (g *guard) stop() error {
	if g.process == nil {
		return nil
	}
	err := g.process.Close()
	g.process = nil
	return err
}

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
	token   string // in the environment of all commands since it started
	calls   int    // commands since then
	tmp     string // directory that it removes
}

// expect marks a command that is about to start, and starts the guard unless it runs; a killed guard is replaced. If the host dies, the guard
// finds the command, and all that it starts, by the mark, and removes the directory tmp, which is empty for none.
func (g *guard) expect(group *group, tmp string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process != nil {
		select {
		case <-g.process.Ended:
			_ = g.stop() // killed: its error is expected
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

// add puts the group of a command that started under guard.
func (g *guard) add(group *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process != nil {
		g.process.Add(group.pid)
	}
}

// remove removes a group that has ended from the list.
func (g *guard) remove(group *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process != nil {
		g.process.Remove(group.pid)
	}
}

// close ends the guard, and with it the groups it still has.
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

//go:build unix

package shell

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// guardScript keeps a list of process groups. Its input ends when the host does, however it died; then it
// kills them.
const guardScript = `groups=
while read -r op id; do
	case $op in
	+) groups="$groups $id" ;;
	-)
		rest=
		for g in $groups; do [ "$g" = "$id" ] || rest="$rest $g"; done
		groups=$rest
		;;
	esac
done
for g in $groups; do kill -9 "-$g" 2>/dev/null; done
exit 0
`

// guard is a small process that outlives the host for the moment it takes to kill the commands that run.
// It starts with the first command. The zero value is ready; safe for use from many goroutines.
type guard struct {
	mu    sync.Mutex
	cmd   *exec.Cmd
	input io.WriteCloser
	ended chan struct{} // closed when the process has ended
	err   error         // how it ended; set before ended is closed
}

// ready starts the guard unless it runs. One that somebody killed is replaced.
func (g *guard) ready() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		select {
		case <-g.ended:
			_ = g.stop() // killed by somebody: that it failed is known
		default:
			return nil
		}
	}
	return g.start()
}

// add puts a group under guard.
func (g *guard) add(pgid int) { g.tell("+", pgid) }

// remove takes a group that is gone off the list.
func (g *guard) remove(pgid int) { g.tell("-", pgid) }

// tell writes to the guard. One that died meanwhile is replaced by ready of the next command.
func (g *guard) tell(op string, pgid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		_, _ = fmt.Fprintf(g.input, "%s %d\n", op, pgid)
	}
}

// close ends the guard, and with it the groups it still has.
func (g *guard) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stop()
}

func (g *guard) start() error {
	cmd := exec.Command("/bin/sh", "-c", guardScript)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("guard of commands: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("guard of commands: %w", err)
	}
	ended := make(chan struct{})
	g.cmd, g.input, g.ended = cmd, input, ended
	go func() { // ends with the process, which ends with its input; stop waits
		g.err = cmd.Wait()
		close(ended)
	}()
	return nil
}

func (g *guard) stop() error {
	if g.cmd == nil {
		return nil
	}
	_ = g.input.Close()
	<-g.ended
	g.cmd, g.input = nil, nil
	if g.err != nil {
		return fmt.Errorf("guard of commands: %w", g.err)
	}
	return nil
}

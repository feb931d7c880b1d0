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
}

// ready starts the guard unless it runs. One that somebody killed is replaced.
func (g *guard) ready() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		if _, err := io.WriteString(g.input, "\n"); err == nil {
			return nil
		}
		_ = g.stop()
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
	g.cmd, g.input = cmd, input
	return nil
}

func (g *guard) stop() error {
	if g.cmd == nil {
		return nil
	}
	cmd, input := g.cmd, g.input
	g.cmd, g.input = nil, nil
	_ = input.Close()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("guard of commands: %w", err)
	}
	return nil
}

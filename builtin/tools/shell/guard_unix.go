//go:build unix

package shell

import (
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// guardScript keeps a list of process groups and of tokens. Its input ends when the host does, however it died; then it kills the groups
// and, on Linux, what has a token in its environment, until it finds nothing more. It removes the temporary directory, its argument.
const guardScript = `groups= tokens=
without() {
	rest=
	for x in $1; do [ "$x" = "$2" ] || rest="$rest $x"; done
}
while read -r op id; do
	case $op in
	+) groups="$groups $id" ;;
	-) without "$groups" "$id"; groups=$rest ;;
	expect) tokens="$tokens $id" ;;
	forget) without "$tokens" "$id"; tokens=$rest ;;
	esac
done
for g in $groups; do kill -9 "-$g" 2>/dev/null; done
for round in 1 2 3 4 5; do
	[ -n "$tokens" ] || break
	found=
	for p in /proc/[0-9]*; do
		for t in $tokens; do
			grep -qsF "` + tokenVariable + `=$t" "$p/environ" && kill -9 "${p#/proc/}" 2>/dev/null && found=1
		done
	done
	[ -n "$found" ] || [ "$round" = 1 ] || break
done
[ -z "$1" ] || rm -rf -- "$1" 2>/dev/null
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

// ready starts the guard unless it runs. One that somebody killed is replaced. tmp is a directory that it removes in the end, empty
// for none.
func (g *guard) ready(tmp string) error {
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
	return g.start(tmp)
}

// expect puts a call under guard before its command starts.
func (g *guard) expect(group *group) {
	g.mu.Lock()
	if g.cmd != nil {
		group.guard = g.cmd.Process.Pid
	}
	g.mu.Unlock()
	g.tell("expect", group.token)
}

// add puts the group of a command that started under guard.
func (g *guard) add(group *group) { g.tell("+", strconv.Itoa(group.pid)) }

// remove takes a call that is over off the list.
func (g *guard) remove(group *group) {
	g.tell("-", strconv.Itoa(group.pid))
	g.tell("forget", group.token)
}

// tell writes to the guard. One that died meanwhile is replaced by ready of the next command.
func (g *guard) tell(op, what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		_, _ = fmt.Fprintf(g.input, "%s %s\n", op, what)
	}
}

// close ends the guard, and with it the groups it still has.
func (g *guard) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stop()
}

func (g *guard) start(tmp string) error {
	cmd := exec.Command("/bin/sh", "-c", guardScript, "sh", tmp)
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

//go:build unix

package shell

import (
	"crypto/rand"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// guardScript keeps a list of process groups. Its input ends when the host does. If the host did not close the guard, the script kills the
// groups, and on Linux everything with the host's token in its environment, until it finds nothing more, and removes the temporary
// directory. Its argument is the token.
const guardScript = `groups= bye= tmp=
while read -r op id; do
	case $op in
	+) groups="$groups $id" ;;
	-)
		rest=
		for g in $groups; do [ "$g" = "$id" ] || rest="$rest $g"; done
		groups=$rest
		;;
	tmp) tmp=$id ;;
	bye) bye=1 ;;
	esac
done
for g in $groups; do kill -9 "-$g" 2>/dev/null; done
for round in 1 2 3 4 5; do
	[ -z "$bye$quiet" ] || break
	quiet=1
	for f in $(grep -lsF "` + tokenVariable + `=$1." /proc/[0-9]*/environ); do
		p=${f#/proc/}
		kill -9 "${p%/environ}" 2>/dev/null && quiet=
	done
done
[ -n "$bye" ] || [ -z "$tmp" ] || rm -rf -- "$tmp" 2>/dev/null
exit 0
`

// guard is a small process that outlives the host until it has killed the commands that run. It starts with the first command. The zero
// value is ready; safe for concurrent use.
type guard struct {
	mu    sync.Mutex
	cmd   *exec.Cmd
	input io.WriteCloser
	ended chan struct{} // closed when the process has ended
	err   error         // how it ended; set before ended is closed
	token string        // in the environment of all commands since it started
	calls int           // commands since then
	tmp   string        // directory that it removes
}

// expect marks a command that is about to start, and starts the guard unless it runs; a killed guard is replaced. If the host dies, the guard
// finds the command, and all that it starts, by the mark, and removes the directory tmp, which is empty for none.
func (g *guard) expect(group *group, tmp string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		select {
		case <-g.ended:
			_ = g.stop() // killed: its error is expected
		default:
		}
	}
	if g.cmd == nil {
		if err := g.start(); err != nil {
			return err
		}
	}
	if tmp != g.tmp {
		g.tmp = tmp
		_, _ = fmt.Fprintf(g.input, "tmp %s\n", tmp) // an error: it died, as in send
	}
	g.calls++
	group.token, group.guard = fmt.Sprintf("%s.%d", g.token, g.calls), g.cmd.Process.Pid
	return nil
}

// add puts the group of a command that started under guard.
func (g *guard) add(group *group) { g.send("+", group) }

// remove removes a group that has ended from the list.
func (g *guard) remove(group *group) { g.send("-", group) }

// send writes to the guard. expect replaces a dead guard before the next command.
func (g *guard) send(op string, group *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		_, _ = fmt.Fprintf(g.input, "%s %d\n", op, group.pid)
	}
}

// close ends the guard, and with it the groups it still has.
func (g *guard) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stop()
}

func (g *guard) start() error {
	g.token, g.tmp = rand.Text(), ""
	cmd := exec.Command("/bin/sh", "-c", guardScript, "sh", g.token)
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
	_, _ = io.WriteString(g.input, "bye\n") // an error: it died
	_ = g.input.Close()
	<-g.ended
	g.cmd, g.input = nil, nil
	if g.err != nil {
		return fmt.Errorf("guard of commands: %w", g.err)
	}
	return nil
}

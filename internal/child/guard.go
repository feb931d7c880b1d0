package child

import (
	"fmt"
	"io"
	"os/exec"
)

// guardScript keeps a list of process groups. Its input ends when the host does. It kills the groups that are still in the list. Unless
// the host closed the guard, it also kills all processes whose environment contains its first argument, until it finds no more, and
// removes the directories: the other arguments, and those that the host named later.
const guardScript = `mark=$1 groups= bye=
shift
while read -r op id; do
	case $op in
	+) groups="$groups $id" ;;
	-)
		rest=
		for g in $groups; do [ "$g" = "$id" ] || rest="$rest $g"; done
		groups=$rest
		;;
	dir) set -- "$@" "$id" ;;
	bye) bye=1 ;;
	esac
done
for g in $groups; do kill -9 "-$g" 2>/dev/null; done
[ -z "$bye" ] || exit 0
for round in 1 2 3 4 5; do
	[ -n "$mark" ] || break
	found=
	for f in $(grep -lsF "$mark" /proc/[0-9]*/environ); do
		p=${f#/proc/}
		kill -9 "${p%/environ}" 2>/dev/null && found=1
	done
	[ -n "$found" ] || break
done
rm -rf -- "$@" 2>/dev/null
exit 0
`

// Guard is a small shell process that kills the process groups in its list when this process ends. It needs a Unix system. Its
// methods may be called concurrently, except for Close. If the guard was killed, Add, Remove and Directory have no effect.
type Guard struct {
	// Ended is closed when the process has ended.
	Ended <-chan struct{}
	PID   int

	input io.WriteCloser
	err   error // from Wait; set before Ended is closed
}

// StartGuard starts a guard. If this process is killed, the guard also kills processes whose environment contains the mark, on Linux and
// unless the mark is empty, and removes the directories.
func StartGuard(mark string, dirs ...string) (*Guard, error) {
	cmd := exec.Command("/bin/sh", append([]string{"-c", guardScript, "sh", mark}, dirs...)...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
	OwnSession(cmd)
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("guard of commands: %w", err)
	}
	ended := make(chan struct{})
	g := &Guard{Ended: ended, PID: cmd.Process.Pid, input: input}
	go func() { // ends with the process, which ends with its input; Close waits
		g.err = cmd.Wait()
		close(ended)
	}()
	return g, nil
}

// Add adds a process group to the list.
func (g *Guard) Add(group int) { g.send(fmt.Sprintf("+ %d\n", group)) }

// Remove removes a process group, which has ended, from the list.
func (g *Guard) Remove(group int) { g.send(fmt.Sprintf("- %d\n", group)) }

// Directory names one more directory to remove.
func (g *Guard) Directory(dir string) { g.send("dir " + dir + "\n") }

func (g *Guard) send(line string) { _, _ = io.WriteString(g.input, line) } // fails if the guard was killed

// Close kills the groups in the list and ends the guard. The error says how the guard's process ended.
func (g *Guard) Close() error {
	g.send("bye\n")
	_ = g.input.Close()
	<-g.Ended
	if g.err != nil {
		return fmt.Errorf("guard of commands: %w", g.err)
	}
	return nil
}

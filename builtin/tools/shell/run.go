package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/confine"
)

// Time limits at the end of a command.
const (
	termGrace  = 3 * time.Second        // after a timeout, from SIGTERM to SIGKILL
	abortGrace = 500 * time.Millisecond // the same after an abort: the user waits
	leftGrace  = 200 * time.Millisecond // the same for background jobs of a shell that ended
	exitWait   = 20 * time.Millisecond  // for processes that end by themselves when the shell has ended
	killWait   = 5 * time.Second        // for a killed process to end
	drainWait  = time.Second            // for output still in the pipe
	tick       = 100 * time.Millisecond // between two progress reports
)

var errUnkillable = errors.New("the command could not be killed and still runs")

// job is one command to run.
type job struct {
	shell    shell
	command  string
	dir      string
	env      []string
	timeout  time.Duration
	confine  func(start func() error) error // nil: the command runs unconfined
	out      *output
	progress func(output string) // called while the command runs, when there is new output
}

// ending describes the end of a command.
type ending struct {
	exit     int // 128+n for signal n
	timedOut bool
	aborted  bool
	left     bool // the shell ended and left processes running
}

// run runs the job and returns when the shell and all processes it started have ended: on Linux, even those that left the group and the
// session.
func (t *bash) run(ctx context.Context, j job) (ending, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return ending{}, fmt.Errorf("pipe for the output: %w", err)
	}
	defer r.Close()
	cmd := exec.Command(j.shell.path, append(j.shell.args, j.command)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = j.dir, j.env, w, w
	group := newGroup(cmd, j.confine != nil)
	defer group.close()

	if err := t.guard.expect(group, t.box.temporary()); err != nil {
		t.log.Warn("commands outlive a killed host", "err", err)
	}
	group.mark(cmd)
	defer t.guard.remove(group)
	calls.join(group)
	exited, err := t.start(cmd, group, j.confine)
	w.Close()
	if err != nil {
		calls.leave(group)
		return ending{}, fmt.Errorf("start %s in %s: %w", j.shell.path, j.dir, err)
	}
	confine.Expend(group.pid)

	drained := make(chan struct{})
	go func() { // belongs to this call; ends when the pipe is closed, at the latest by drain
		defer close(drained)
		_, _ = io.Copy(j.out, r)
	}()
	end := j.wait(ctx, exited)
	ended := !end.aborted && !end.timedOut
	if ended {
		end.left = !waitFor(group.gone, exitWait)
	}
	err = finish(end, group, exited)
	end.left = calls.leave(group) && ended || end.left
	drain(r, drained)
	if err != nil {
		return end, err
	}
	end.exit = exitCode(cmd.ProcessState)
	return end, nil
}

// start starts the command. exited is closed when the shell has ended.
func (t *bash) start(cmd *exec.Cmd, group *group, confine func(func() error) error) (exited <-chan struct{}, err error) {
	begin := func() error {
		err := cmd.Start()
		if err == nil {
			err = group.started(cmd)
			t.guard.add(group)
			calls.started(group, cmd.Process.Pid)
		}
		return err
	}
	done, started := make(chan struct{}), make(chan error, 1)
	go func() { // belongs to the call; ends with the shell; finish waits for done
		if confine != nil {
			started <- confine(begin)
		} else { // Linux ends an unconfined shell when the thread that started it goes away; keeping one costs 0.15 ms
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			started <- begin()
		}
		if cmd.Process != nil {
			_ = cmd.Wait() // its outcome is in cmd.ProcessState
		}
		close(done)
	}()
	return done, <-started
}

// wait returns when the shell has ended or must be ended.
func (j *job) wait(ctx context.Context, exited <-chan struct{}) ending {
	timeout := time.After(j.timeout)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-exited:
			return ending{}
		case <-ctx.Done():
			return ending{aborted: true}
		case <-timeout:
			return ending{timedOut: true}
		case <-ticker.C:
			if output, grown := j.out.news(liveBytes); grown {
				j.progress(output)
			}
		}
	}
}

// finish ends the processes left in the group, with SIGTERM first.
func finish(end ending, group *group, exited <-chan struct{}) error {
	grace := leftGrace
	switch {
	case end.aborted:
		grace = abortGrace
	case end.timedOut:
		grace = termGrace
	}
	gone := func() bool {
		select {
		case <-exited:
			return group.gone()
		default:
			return false
		}
	}
	if !gone() {
		group.terminate()
		waitFor(gone, grace)
	}
	group.kill() // even if it seems empty: a process that forks at this moment may have been missed
	select {
	case <-exited:
		return nil
	case <-time.After(killWait):
		return errUnkillable
	}
}

// waitFor returns true when done does, or false after the limit. It polls, because the system does not report that a group of processes is empty.
func waitFor(done func() bool, limit time.Duration) bool {
	for deadline := time.Now().Add(limit); !done(); time.Sleep(5 * time.Millisecond) {
		if !time.Now().Before(deadline) {
			return false
		}
	}
	return true
}

// drain waits for the rest of the output; a process that left the group may hold the pipe open forever.
func drain(r *os.File, drained <-chan struct{}) {
	select {
	case <-drained:
	case <-time.After(drainWait):
		r.Close()
		<-drained
	}
}

// trailer returns the lines after the output: notes about the command's end, and the lines in more.
func (e ending) trailer(timeout time.Duration, more ...string) string {
	var notes []string
	switch {
	case e.aborted:
		notes = append(notes, "The user aborted the command.")
	case e.timedOut:
		notes = append(notes, fmt.Sprintf("The command ran longer than its timeout of %d ms and was ended. If it needs more, give a larger timeout; if it waits for input, it gets none; if it is a server, start it with & in the call that uses it.",
			timeout.Milliseconds()))
	case e.exit != 0:
		notes = append(notes, fmt.Sprintf("exit status %d", e.exit))
	}
	if e.left {
		notes = append(notes, "Processes that it left running were ended. If a later command needs them, start them in its call.")
	}
	notes = append(notes, more...)
	if len(notes) == 0 {
		return ""
	}
	return "\n<bash_metadata>\n" + strings.Join(notes, "\n") + "\n</bash_metadata>"
}

package shell

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// calls are the running calls of this process. There is one list because the kernel assigns orphans to the process as a whole.
var calls family

// family is a set of running calls. While it is not empty, this process is a child subreaper: processes that a command leaves behind
// become its children, and end with the call. The zero value is ready; safe for concurrent use.
type family struct {
	mu      sync.Mutex
	running map[*group]int // process numbers of their shells; 0 before the start
	since   uint64         // start of the first of the overlapping calls, in the ticks of /proc
}

// join makes orphans among the group's descendants children of this process. It is called before the command starts.
func (f *family) join(g *group) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.running) == 0 {
		// An error means a kernel older than 3.4: survivors then become children of init.
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		f.running, f.since = map[*group]int{}, ticks()
	}
	f.running[g] = 0
}

// started records the process of the call's shell.
func (f *family) started(g *group, pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[g] = pid
}

// ticks returns the time since the system started in the unit of /proc: 10 ms (USER_HZ on the platforms of Go).
func ticks() uint64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return math.MaxUint64 // a kernel older than 2.6.39: no process counts as younger
	}
	return uint64(ts.Nano() / 1e7)
}

// leave ends the remaining processes of the call, whose shell has ended, and reports whether one that it certainly started still ran.
func (f *family) leave(g *group) (ran bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	deadline := time.Now().Add(killWait)
	for found := true; found && time.Now().Before(deadline); { // killed processes may have started others
		var running bool
		found, running = f.endSome(g)
		ran = ran || running
	}
	delete(f.running, g)
	if len(f.running) == 0 {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}
	return ran
}

// endSome kills and reaps this process's children that are survivors of the call, and reports whether there were any, and whether one
// that the call certainly started still ran.
func (f *family) endSome(g *group) (found, ran bool) {
	shells := slices.Collect(maps.Values(f.running)) // their calls wait for them
	for _, pid := range children() {
		if pid == g.guard || slices.Contains(shells, pid) {
			continue
		}
		p, ok := processOf(pid)
		if !ok {
			continue
		}
		survives, known := f.survives(g, p)
		if !survives {
			continue
		}
		if !ran && known { // it may be about to end
			ran = !waitFor(func() bool { p, ok := processOf(pid); return !ok || p.zombie }, exitWait)
		}
		found = true
		_ = syscall.Kill(pid, syscall.SIGKILL) // the number cannot be reused before we reap it
		waitFor(func() bool {
			reaped, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			return reaped == pid || err == syscall.ECHILD
		}, killWait)
	}
	return found, ran
}

// survives reports whether a child of this process is left from the call. Every descendant of a command is in another session than this
// process and cannot join its session; processes of plugins and MCP servers are in this process's session unless they leave it. If the
// child's session is not that of a shell, the token in its environment names the call. A child in another session without the token of a
// running call may belong to a confined command that changed its environment: it does if it cannot gain privileges and is not older than
// the running calls. Such a child ends with the last of these calls, which need not have started it: then known is false.
func (f *family) survives(g *group, p process) (survives, known bool) {
	for other, shell := range f.running {
		if p.session == shell {
			return other == g, true
		}
	}
	token := tokenOf(p)
	for other := range f.running {
		if token == other.token {
			return other == g, true
		}
	}
	own, _ := unix.Getsid(0)
	return len(f.running) == 1 && p.session != own && p.start >= f.since && noNewPrivileges(p.pid), false
}

// process is one line of /proc/PID/stat.
type process struct {
	pid, session int
	start        uint64
	zombie       bool   // it has ended
	memory       string // where its environment ends; 0 if it has ended or executes another program at this moment
}

// processOf returns a process.
func processOf(pid int) (process, bool) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // after the name, which can contain any character: state, parent, group, session …
	if len(fields) < 49 {
		return process{}, false
	}
	session, err := strconv.Atoi(string(fields[3]))
	if err != nil {
		return process{}, false
	}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	return process{pid, session, start, fields[0][0] == 'Z', string(fields[48])}, err == nil
}

// children returns the children of this process that were orphans: the kernel makes them children of its main thread. The children of other
// threads are not among them while these threads run.
func children() []int {
	pid := os.Getpid()
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil // a kernel without CONFIG_PROC_CHILDREN
	}
	var out []int
	for _, field := range bytes.Fields(list) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// tokenOf returns the token of the call in a process's environment, or "" if it has none or cannot be read.
func tokenOf(p process) string {
	var env []byte
	waitFor(func() (read bool) { // while a process executes another program, its environment is empty
		var err error
		env, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
		before := p.memory
		p, _ = processOf(p.pid)
		return len(env) > 0 || err != nil || p.zombie || p.memory == before && p.memory != "0"
	}, killWait)
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if token, ok := bytes.CutPrefix(entry, []byte(tokenVariable+"=")); ok {
			return string(token)
		}
	}
	return ""
}

// noNewPrivileges reports whether a process cannot gain privileges, like all processes of confined commands.
func noNewPrivileges(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && bytes.Contains(status, []byte("\nNoNewPrivs:\t1\n"))
}

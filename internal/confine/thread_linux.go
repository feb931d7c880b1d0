package confine

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Do runs start on a new thread that stays confined. The processes that start creates are confined like the thread; the rest of this
// process is not. Do returns when start returns.
//
// The processes may signal the thread, because it is confined like them, and SIGKILL would end this process. So the thread ends as
// soon as start returns. A process with a parent death signal (SysProcAttr.Pdeathsig) would receive the signal then.
//
// Processes can never read or trace this process through the thread: Do makes the process undumpable. It then leaves no core dumps, and a
// debugger without privileges cannot attach to it.
func (r *Ruleset) Do(start func() error) error {
	if err := guarded(); err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	started := make(chan error, 1)
	go onThread(func() { // ends after start
		err := r.enter()
		if err == nil {
			err = start()
		}
		started <- err
	})
	return <-started
}

// onThread runs f on a thread that ends with f: a goroutine that returns while it is locked to its thread ends the thread. Two kinds of
// threads are unsuitable. The main thread would not end, and the system shows its restriction as that of the process. The end of a
// thread that started processes would end those with a parent death signal (package child). A goroutine on such a thread keeps the
// thread busy until another goroutine runs on a suitable one.
func onThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() && childless() {
		f()
		return // locked
	}
	elsewhere := make(chan struct{})
	go onThread(func() { // ends after f
		close(elsewhere)
		f()
	})
	<-elsewhere
	runtime.UnlockOSThread()
}

// childless reports whether this thread has no children. The call does not reap any.
func childless() bool {
	const look = unix.WEXITED | unix.WNOHANG | unix.WNOWAIT | unix.WALL | unix.WNOTHREAD
	return unix.Waitid(unix.P_ALL, 0, nil, look, nil) == unix.ECHILD
}

// guarded keeps processes that have no privileges over this one from reading or tracing it, and files that this process inherited from the
// ones that it starts.
var guarded = sync.OnceValue(func() error {
	return errors.Join(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0), unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC))
})

// enter confines the thread, which can never be undone.
func (r *Ruleset) enter() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("confine: no_new_privs: %w", err)
	}
	if err := errors.Join(dropCapabilities(), filterCalls()); err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 { // EBADF after Close
		return fmt.Errorf("confine: landlock_restrict_self: %w", errno)
	}
	return nil
}

// kept are the capabilities that root keeps, for changing, reading and writing files, switching users, and the network. All others are dropped,
// including those of later kernels. Of the dropped ones, these would break the confinement: SYS_PTRACE, PERFMON, SYS_ADMIN (memory of others,
// mounts), BPF, SYS_MODULE, SYS_RAWIO, MKNOD (the kernel and disks), DAC_READ_SEARCH (open_by_handle_at), SYS_TIME (forged ctime), SYS_RESOURCE,
// SETPCAP.
const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL | 1<<unix.CAP_SETGID |
	1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_NET_RAW

// dropCapabilities removes the capabilities that kept does not name from the effective, permitted, inheritable, ambient and bounding
// sets of the thread. Without CAP_SETPCAP the bounding set stays; no_new_privs keeps programs from gaining capabilities by it.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	if sets == [2]unix.CapUserData{} {
		return nil
	}
	if sets[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		for c := range uintptr(64) {
			if uint64(kept)&(1<<c) != 0 {
				continue
			}
			err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
			if err == unix.EINVAL {
				break // the kernel has no more capabilities
			}
			if err != nil {
				return fmt.Errorf("bounding set: %w", err)
			}
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && err != unix.EINVAL {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	for i, mask := range [2]uint32{uint32(kept & 0xffffffff), uint32(kept >> 32)} {
		sets[i].Effective &= mask
		sets[i].Permitted &= mask
		sets[i].Inheritable &= mask
	}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return nil
}

package confine_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tenonhq/tenon/internal/confine"
)

// play is what the test binary does as another process.
func play(role string) int {
	err := fmt.Errorf("unknown role %q", role)
	switch role {
	case "host":
		err = playHost()
	case "main":
		err = playMain()
	case "attacker":
		err = attack()
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// inherited is a descriptor of the host that ends with no program, as those that a shell leaves open. It is
// below the lowest usual limit, 256.
const inherited = 200

// playHost starts a confined attacker, and lets it attack when its thread has ended.
func playHost() error {
	listener, err := net.Listen("unix", "@tenon-confine-"+strconv.Itoa(os.Getpid()))
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := unix.Dup3(0, inherited, 0); err != nil {
		return err
	}
	r, err := confine.New(confine.Policy{Write: confine.Devices(), Read: []string{"/"}})
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{role + "=attacker"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	tid := 0
	err = r.Do(func() error {
		tid = unix.Gettid()
		return cmd.Start()
	})
	if err != nil {
		return err
	}
	for unix.Tgkill(unix.Getpid(), tid, 0) == nil { // the thread is about to end
	}
	if err := input.Close(); err != nil {
		return err
	}
	return cmd.Wait()
}

// playMain makes it likely that Do runs on the main thread: the main goroutine leaves it.
func playMain() error {
	r, err := confine.New(confine.Policy{})
	if err != nil {
		return err
	}
	defer r.Close()
	for range 500 {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { _ = r.Do(func() error { return nil }) })
		}
		all.Wait()
		status, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", os.Getpid()))
		if err != nil {
			return err
		}
		if !strings.Contains(string(status), "NoNewPrivs:\t0\n") {
			return errors.New("the main thread is confined")
		}
	}
	fmt.Println("well")
	return nil
}

// attack tries to harm the host and prints what worked.
func attack() error {
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // until it is closed
	host := os.Getppid()
	for _, a := range attacks(host) {
		if err := a.try(); err == nil {
			fmt.Println("LEAK:", a.name)
		}
	}
	fmt.Println("attacked")
	return nil
}

type attempt struct {
	name string
	try  func() error
}

func attacks(host int) []attempt {
	proc := fmt.Sprintf("/proc/%d/", host)
	out := []attempt{
		{"read cwd", func() error { _, err := os.ReadDir(proc + "cwd"); return err }},
		{"read through root", func() error { _, err := os.ReadDir(proc + "root"); return err }},
		{"read a link of a descriptor", func() error { _, err := os.Readlink(proc + "fd/1"); return err }},
		{"open a descriptor", func() error { _, err := os.Open(proc + "fd/0"); return err }},
		{"kill with signal", func() error { return syscall.Kill(host, syscall.SIGCONT) }},
		{"signal by pidfd", func() error {
			fd, err := unix.PidfdOpen(host, 0)
			if err != nil {
				return err
			}
			return unix.PidfdSendSignal(fd, 0, nil, 0)
		}},
		{"read and set limits", func() error {
			var limit unix.Rlimit
			if err := unix.Prlimit(0, unix.RLIMIT_CORE, nil, &limit); err != nil {
				return nil // its own, which it may
			}
			return unix.Prlimit(host, unix.RLIMIT_CORE, &limit, nil)
		}},
		{"use a file that the host inherited", func() error { _, err := unix.FcntlInt(inherited, unix.F_GETFD, 0); return err }},
		{"take a descriptor", func() error {
			fd, err := unix.PidfdOpen(host, 0)
			if err != nil {
				return err
			}
			_, err = unix.PidfdGetfd(fd, 1, 0)
			return err
		}},
		{"find a keyring of the kernel", func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); return err }},
		{"add a key", func() error {
			_, err := unix.AddKey("user", "tenon", []byte("k"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		}},
		{"connect to an abstract socket (signal scope)", func() error {
			c, err := net.Dial("unix", "@tenon-confine-"+strconv.Itoa(host))
			if err == nil {
				c.Close()
			}
			return err
		}},
		{"open by handle", func() error {
			handle, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, "/etc/hostname", 0)
			_ = mount
			if err != nil {
				return err
			}
			dir, err := unix.Open("/etc", unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			_, err = unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
			return err
		}},
		{"set the clock", func() error {
			var now unix.Timespec
			_ = unix.ClockGettime(unix.CLOCK_REALTIME, &now)
			return unix.ClockSettime(unix.CLOCK_REALTIME, &now)
		}},
		{"mount", func() error { return unix.Mount("none", "/mnt", "tmpfs", 0, "") }},
		{"read the kernel's memory", func() error { _, err := os.Open("/proc/kcore"); return err }},
		{"chroot", func() error { return unix.Chroot("/") }},
	}
	threads, err := filepath.Glob(proc + "task/[0-9]*")
	if err != nil || len(threads) < 3 {
		fmt.Println("LEAK: the test sees no threads of the host:", threads, err)
	}
	for _, thread := range append(threads, fmt.Sprintf("/proc/%d", host)) {
		out = append(out, attacksOn(host, thread)...)
	}
	return out
}

// attacksOn are attacks on one thread of the host: they all share its memory.
func attacksOn(host int, thread string) []attempt {
	tid, _ := strconv.Atoi(filepath.Base(thread)) // the pattern has only digits there
	read := func(file string) func() error {
		return func() error {
			f, err := os.OpenFile(thread+"/"+file, os.O_RDONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			if n, err := f.Read(make([]byte, 16)); n > 0 || err == nil || file == "mem" {
				return nil
			}
			return errors.New("empty")
		}
	}
	name := func(what string) string { return what + " of " + thread }
	return []attempt{
		{name("environ"), read("environ")},
		{name("mem"), read("mem")},
		{name("maps"), read("maps")},
		{name("auxv"), read("auxv")},
		{name("exe"), read("exe")},
		{name("signal"), func() error { return unix.Tgkill(host, tid, 0) }},
		{name("signal by its number"), func() error { return unix.Kill(tid, 0) }},
		{name("seize"), func() error {
			_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, 0, 0, 0)
			return ok(errno)
		}},
		{name("attach"), func() error { return unix.PtraceAttach(tid) }},
		{name("process_vm_readv"), func() error {
			var b [1]byte
			_, err := unix.ProcessVMReadv(tid, []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&b)), Len: 1}}, 0)
			if errors.Is(err, unix.EFAULT) {
				return nil // it was allowed, only the address is wrong
			}
			return err
		}},
		{name("perf events"), func() error {
			fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}, tid, -1, -1, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}},
	}
}

func ok(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

package confine

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// numbers are the numbers of system calls by architecture, including 32-bit programs, from linux/arch/*/kernel/syscalls. The first argument
// of prlimit64 is the process, 0 for the caller, and its third one the new limit, 0 for none. request_key and keyctl follow add_key.
var numbers = [...]struct{ arch, prlimit64, addKey uint32 }{
	{unix.AUDIT_ARCH_X86_64, 302, 248}, {unix.AUDIT_ARCH_X86_64, 302 | 1<<30, 248 | 1<<30}, {unix.AUDIT_ARCH_I386, 340, 286}, // 1<<30: x32
	{unix.AUDIT_ARCH_AARCH64, 261, 217}, {unix.AUDIT_ARCH_ARM, 369, 309}, {unix.AUDIT_ARCH_RISCV64, 261, 217}, {unix.AUDIT_ARCH_LOONGARCH64, 261, 217},
}

// filterCalls forbids the thread two things that Landlock does not cover. One is setting the limits of other processes: a limit on processor
// time ends a process with a signal. The other is using the kernel's keyrings, which all processes of the user share, and for which the kernel
// starts programs outside the sandbox.
func filterCalls() error {
	load := func(offset uint32) unix.SockFilter { // of struct seccomp_data, see linux/seccomp.h
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	compare := func(with uint32, skip, skipOther uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: with, Jt: skip, Jf: skipOther}
	}
	least := func(value uint32, skip, skipOther uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: value, Jt: skip, Jf: skipOther}
	}
	end := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	var filter []unix.SockFilter
	for _, n := range numbers {
		filter = append(filter, load(4), compare(n.arch, 0, 11), load(0), least(n.addKey, 0, 1), least(n.addKey+3, 0, 7),
			compare(n.prlimit64, 0, 7), load(16), compare(0, 5, 0),
			load(32), compare(0, 0, 2), load(36), compare(0, 1, 0), // a process may read the limits of others
			end(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)))
	}
	filter = append(filter, end(unix.SECCOMP_RET_ALLOW))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}

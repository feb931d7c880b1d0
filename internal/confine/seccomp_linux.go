package confine

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// limiters are the numbers of prlimit64 by architecture, including 32-bit programs, from linux/arch/*/kernel/syscalls. The first argument of
// prlimit64 is the process, or 0 for the caller; the third is the new limit, or 0 for none.
var limiters = [...]struct{ arch, number uint32 }{
	{unix.AUDIT_ARCH_X86_64, 302}, {unix.AUDIT_ARCH_X86_64, 302 | 1<<30}, {unix.AUDIT_ARCH_I386, 340}, // 1<<30: x32
	{unix.AUDIT_ARCH_AARCH64, 261}, {unix.AUDIT_ARCH_ARM, 369}, {unix.AUDIT_ARCH_RISCV64, 261}, {unix.AUDIT_ARCH_LOONGARCH64, 261},
}

// limitItself keeps the thread from setting the limits of other processes, which Landlock does not cover: a limit on processor time ends
// a process with a signal.
func limitItself() error {
	load := func(offset uint32) unix.SockFilter { // of struct seccomp_data, see linux/seccomp.h
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	compare := func(with uint32, skip, skipOther uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: with, Jt: skip, Jf: skipOther}
	}
	end := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	var filter []unix.SockFilter
	for _, l := range limiters {
		filter = append(filter, load(4), compare(l.arch, 0, 9), load(0), compare(l.number, 0, 7), load(16), compare(0, 5, 0),
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

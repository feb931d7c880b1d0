//go:build darwin || freebsd || netbsd

package projectfs

import "syscall"

func (s *Stamp) refine(sys any) {
	if st, ok := sys.(*syscall.Stat_t); ok {
		s.Changed, s.Inode, s.Device = st.Ctimespec.Nano(), uint64(st.Ino), uint64(st.Dev)
	}
}

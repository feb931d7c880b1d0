//go:build darwin || freebsd || netbsd

package snapshot

import "syscall"

func (s *stamp) refine(sys any) {
	if st, ok := sys.(*syscall.Stat_t); ok {
		s.Ctime, s.Inode = st.Ctimespec.Nano(), uint64(st.Ino)
	}
}

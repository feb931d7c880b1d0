package projectfs

import "syscall"

func (s *Stamp) refine(sys any) {
	if st, ok := sys.(*syscall.Stat_t); ok {
		s.Changed, s.Inode, s.Device = st.Ctim.Nano(), st.Ino, uint64(st.Dev)
	}
}

package sandbox

// FindIn is Find on a system with these mounts. mounts has the format of /proc/self/mountinfo.
func FindIn(o Options, mounts string) ([]Path, error) { return find(o, mounts) }

package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// Access rights, see landlock(7). No process may create devices.
const (
	readOnly  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	ofFiles   = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	readWrite = readOnly | ofFiles | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER
	handled = readWrite | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// The scopes of ABI 6, from linux/landlock.h: signals and abstract Unix sockets stay within the command.
const scopes = 1<<0 | 1<<1

// createVersion asks landlock_create_ruleset for the ABI version.
const createVersion = 1

// Supported returns the ABI version of Landlock. If processes cannot be confined, the error wraps [ErrUnsupported] and names the reason.
func Supported() (abi int, err error) { return supported() }

// supported asks the kernel once: its answer does not change.
var supported = sync.OnceValues(func() (abi int, err error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, createVersion)
	switch {
	case errno == unix.ENOSYS || errno == unix.EPERM:
		return 0, fmt.Errorf("%w: no Landlock in this kernel (needs Linux 5.13 or newer, built with it), or the container's seccomp profile forbids it", ErrUnsupported)
	case errno == unix.EOPNOTSUPP:
		return 0, fmt.Errorf(`%w: Landlock is switched off; add "landlock" to the kernel's parameter lsm=`, ErrUnsupported)
	case errno != 0:
		return 0, fmt.Errorf("%w: landlock: %w", ErrUnsupported, errno)
	}
	action := uint32(unix.SECCOMP_RET_ERRNO)
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action))); errno != 0 {
		return 0, fmt.Errorf("%w: seccomp: %w", ErrUnsupported, errno)
	}
	return int(v), nil
})

// rights returns the access rights and scopes of an ABI version.
func rights(abi int) (access, scoped uint64) {
	access = handled
	if abi < 2 {
		access &^= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi < 3 {
		access &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi < 5 {
		access &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		scoped = scopes
	}
	return access, scoped
}

// Ruleset is a policy that was passed to the kernel. Until Close, any number of commands may start under it concurrently.
type Ruleset struct {
	fd     int // -1 after Close
	access uint64
	split  map[string]projectfs.Stamp // state of the directories that are allowed name by name
}

// New builds the ruleset of a policy. The caller closes it. Errors wrap [ErrUnsupported], are a [*ConflictError], or are about paths in
// Write, which must exist.
func New(p Policy) (*Ruleset, error) {
	abi, err := Supported()
	if err != nil {
		return nil, err
	}
	access, scoped := rights(abi)
	attr := struct{ fs, net, scoped uint64 }{fs: access, scoped: scoped}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	r := &Ruleset{fd: int(fd), access: access, split: map[string]projectfs.Stamp{}}
	unix.CloseOnExec(r.fd)
	if err := r.fill(p); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// fill adds the rules.
func (r *Ruleset) fill(p Policy) error {
	hidden, resolver := newTree(), projectfs.Resolver{}
	for _, path := range p.Hide { // the path itself, and the target of its links, which need not exist
		hidden.add(filepath.Clean(path))
		hidden.add(resolver.Real(path))
	}
	for _, path := range p.Write {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return fmt.Errorf("writable path: %w", err)
		}
		if inside, ok := hidden.above[real]; ok {
			return &ConflictError{Write: real, Hidden: inside}
		}
		if err := r.allow(real, readWrite); err != nil {
			return fmt.Errorf("writable path: %w", err)
		}
	}
	for _, path := range p.Read {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			r.read(real, hidden)
		}
	}
	listed, others := map[string]bool{}, newTree()
	for _, path := range p.List {
		listed[filepath.Clean(path)], listed[resolver.Real(path)] = true, true
	}
	for path := range hidden.paths {
		if !listed[path] {
			others.add(path)
		}
	}
	for _, path := range p.List {
		if dir := resolver.Real(filepath.Dir(path)); r.split[dir] != (projectfs.Stamp{}) && others.above[dir] == "" {
			_ = r.allow(dir, unix.LANDLOCK_ACCESS_FS_READ_DIR)
		}
	}
	return nil
}

// read allows reading a tree except for the hidden paths in it. The command cannot read files that cannot be opened here, either.
func (r *Ruleset) read(path string, hidden tree) {
	if hidden.paths[path] {
		return
	}
	if hidden.above[path] == "" {
		_ = r.allow(path, readOnly)
		return
	}
	stamp := projectfs.StampOf(os.Stat(path))
	entries, err := os.ReadDir(path)
	if stamp == (projectfs.Stamp{}) || err != nil && len(entries) == 0 {
		return
	}
	r.split[path] = stamp
	for _, e := range entries {
		// A rule for a link would apply to its target.
		if e.Type()&fs.ModeSymlink == 0 {
			r.read(filepath.Join(path, e.Name()), hidden)
		}
	}
}

// allow adds the rule of one path without links.
func (r *Ruleset) allow(path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFCHR, unix.S_IFBLK:
		if access == readWrite {
			access |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		}
		access &= ofFiles | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	default:
		access &= ofFiles
	}
	// struct landlock_path_beneath_attr is packed: the rights, then the descriptor.
	var rule [12]byte
	*(*uint64)(unsafe.Pointer(&rule[0])) = access & r.access
	*(*int32)(unsafe.Pointer(&rule[8])) = int32(fd)
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule[0])), 0, 0, 0); errno != 0 {
		return &fs.PathError{Op: "landlock_add_rule", Path: path, Err: errno}
	}
	return nil
}

// Stale reports whether names were added to or removed from a directory that is allowed name by name. If so, build a new ruleset.
func (r *Ruleset) Stale() bool {
	for path, was := range r.split {
		if projectfs.StampOf(os.Stat(path)) != was {
			return true
		}
	}
	return false
}

// Close releases the ruleset. It may be called twice. Running commands stay confined.
func (r *Ruleset) Close() error {
	if r.fd < 0 {
		return nil
	}
	err := unix.Close(r.fd)
	r.fd = -1
	return err
}

// tree is a set of paths, and all directories above them.
type tree struct {
	paths map[string]bool
	above map[string]string // a directory above a path, and that path
}

func newTree() tree { return tree{paths: map[string]bool{}, above: map[string]string{}} }

func (t *tree) add(path string) {
	t.paths[path] = true
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if t.above[dir] == "" {
			t.above[dir] = path
		}
		if dir == filepath.Dir(dir) {
			return
		}
	}
}

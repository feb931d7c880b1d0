package projectfs

import (
	"cmp"
	"strings"
	"syscall"
)

// nameOf returns the name under which the directory lists a file. The system also finds the file by its short name (SECRET~1), in another
// case, with dots or spaces at the end, and by a stream (secret::$DATA); rules for the name must hold for all of them.
func nameOf(dir, name string) string {
	name, _, _ = strings.Cut(name, ":")
	path, err := syscall.UTF16PtrFromString(dir + `\` + name)
	if err != nil || strings.ContainsAny(name, `*?<>"`) { // wildcards here, which no name contains
		return name
	}
	var found syscall.Win32finddata
	h, err := syscall.FindFirstFile(path, &found)
	if err != nil {
		return cmp.Or(strings.TrimRight(name, ". "), name) // which a new file gets
	}
	_ = syscall.FindClose(h) // nothing was changed
	return syscall.UTF16ToString(found.FileName[:])
}

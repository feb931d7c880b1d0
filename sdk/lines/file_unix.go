//go:build unix

package lines

import (
	"os"
	"syscall"
)

// openFile returns a file of the process by its number; programs that the plugin starts do not inherit it.
func openFile(fd int) *os.File {
	syscall.CloseOnExec(fd)
	_ = syscall.SetNonblock(fd, true) // lets Close end a read
	return os.NewFile(uintptr(fd), "lines")
}

//go:build unix

package ability

import (
	"os"
	"syscall"
)

// noFollow refuses to open a symbolic link.
const noFollow = syscall.O_NOFOLLOW

// openStored opens the file of a store for reading. It does not block if the file is a pipe.
func openStored(root *os.Root) (*os.File, error) {
	return root.OpenFile(storeFile, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

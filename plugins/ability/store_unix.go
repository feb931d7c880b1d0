//go:build unix

package ability

import (
	"errors"
	"os"
	"syscall"
)

// noFollow refuses to open a symbolic link.
const noFollow = syscall.O_NOFOLLOW

// openStored opens the file of a store for reading. It does not wait for a pipe in its place.
func openStored(root *os.Root) (*os.File, error) {
	return root.OpenFile(storeFile, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// rename puts the new file in the place of the old one and makes that durable.
func rename(root *os.Root) error {
	if err := root.Rename(storeNew, storeFile); err != nil {
		return err
	}
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

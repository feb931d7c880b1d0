//go:build !unix

package lines

import "os"

// openFile returns a file of the process by its number.
func openFile(fd int) *os.File { return os.NewFile(uintptr(fd), "lines") }

//go:build !unix

package wasm

import (
	"fmt"
	"os"
)

// private makes sure that there is no link at path. Who may read a user's directories is decided by what they inherit here.
func private(path string, _ os.FileMode) error {
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is a %s", path, info.Mode().Type())
	}
	return err
}

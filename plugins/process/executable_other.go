//go:build !linux

package process

import (
	"io"
	"os"
	"runtime"
)

// seal makes a private copy of what fill writes.
func seal(name string, fill func(io.Writer) error) (sealed, error) { return newPrivateCopy(name, fill) }

func isExecutable(info os.FileInfo) bool { return runtime.GOOS == "windows" || info.Mode()&0o111 != 0 }

package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrSpecial is wrapped by the errors about what is neither a regular file nor a directory.
var ErrSpecial = errors.New("not a regular file")

// OpenRegular opens the regular file at path for reading. It never blocks on a named pipe and never
// opens a device. Errors wrap ErrSpecial or are those of os.Open.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	// Opening alone can have effects (a tape rewinds), so look first; and look again at what was opened,
	// as it may have been replaced in between.
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, special(info)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = special(info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

func special(info fs.FileInfo) error {
	kind := "special file"
	switch mode := info.Mode(); {
	case mode.IsDir():
		kind = "directory"
	case mode&fs.ModeNamedPipe != 0:
		kind = "named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "socket"
	case mode&fs.ModeDevice != 0:
		kind = "device"
	}
	return fmt.Errorf("%w: it is a %s", ErrSpecial, kind)
}

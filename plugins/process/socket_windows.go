package process

import (
	"io"
	"os"
)

// lineSocket returns nothing: on Windows a process inherits only its standard streams, so lines use them.
func lineSocket() (ours io.ReadWriteCloser, theirs *os.File, err error) { return nil, nil, nil }

package process

import (
	"io"
	"os"
)

// lineSocket returns nothing: a process on Windows gets no file besides its standard streams, so lines use these.
func lineSocket() (ours io.ReadWriteCloser, theirs *os.File, err error) { return nil, nil, nil }

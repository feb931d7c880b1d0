//go:build !unix

package files

import (
	"io/fs"
	"os"
)

// takeAfter does nothing: what is not a Unix has no mode to keep beyond read-only, which is refused
// before, and a file inherits its rights from its directory.
func takeAfter(*os.File, fs.FileInfo) error { return nil }

//go:build !unix

package ability

import (
	"os"
)

// noFollow has no counterpart here; os.Root refuses links that lead out.
const noFollow = 0

// openStored opens the file of a store for reading.
func openStored(root *os.Root) (*os.File, error) { return root.Open(storeFile) }

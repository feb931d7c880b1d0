//go:build !unix

package ability

import (
	"os"
	"time"
)

// noFollow has no counterpart here; os.Root refuses links that lead out.
const noFollow = 0

// openStored opens the file of a store for reading.
func openStored(root *os.Root) (*os.File, error) { return root.Open(storeFile) }

// rename puts the new file in the place of the old one. A reader in another process keeps it from that for a moment.
func rename(root *os.Root) error {
	const tries, pause = 100, 10 * time.Millisecond
	var err error
	for range tries {
		if err = root.Rename(storeNew, storeFile); err == nil {
			return nil
		}
		time.Sleep(pause)
	}
	return err
}

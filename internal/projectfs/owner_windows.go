package projectfs

import "os/exec"

// Owned reports whether a file belongs to the user of this process. It is false, so that git, which compares the owners, is asked. Without git
// it is true.
func Owned(string) bool {
	_, err := exec.LookPath("git")
	return err != nil
}

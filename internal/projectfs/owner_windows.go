package projectfs

// Owned reports whether a file belongs to the user of this process. It is always false, so that git, which compares the owners, is asked.
func Owned(string) bool { return false }

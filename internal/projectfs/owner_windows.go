package projectfs

// Owned reports whether a file belongs to the user of this process. git compares the owners itself.
func Owned(string) bool { return true }

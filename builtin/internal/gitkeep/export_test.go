package gitkeep

// Entries returns how many settings an answer of git holds.
func Entries(out []byte) int { return len(parse(string(out))) }

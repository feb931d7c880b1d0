package trust

// nonblock is not needed: no file waits for another process to open it.
const nonblock = 0

// executableSuffix ends the name of a program.
const executableSuffix = ".exe"

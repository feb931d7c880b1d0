package shell

// TokenVariable marks the processes of a call.
const TokenVariable = tokenVariable

// TokenOf returns the token in the environment of a running process.
func TokenOf(pid int) string { return tokenOf(process{pid: pid}) }

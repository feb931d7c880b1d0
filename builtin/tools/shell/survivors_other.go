//go:build !linux

package shell

var calls family

// family does nothing: on Windows job objects contain all processes; elsewhere processes that leave their group and session are not ended.
type family struct{}

func (*family) join(*group)         {}
func (*family) started(*group, int) {}
func (*family) leave(*group) bool   { return false }

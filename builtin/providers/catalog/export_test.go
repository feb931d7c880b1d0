package catalog

// Wait waits until no refresh runs.
func (p *Plugin) Wait() { p.running.Wait() }

// Repack is repack, for tests.
var Repack = repack

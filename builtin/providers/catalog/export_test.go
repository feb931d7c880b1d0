package catalog

// Wait waits until no refresh runs.
func (p *Plugin) Wait() { p.running.Wait() }

// Functions for tests.
var (
	Repack       = repack
	DecodeModels = decodeModels
)

package wasm

import "github.com/tenonhq/tenon/sdk"

// TrimNow trims the idle instances of a plugin.
func TrimNow(p sdk.Plugin) {
	pool := p.(*plugin).pool
	pool.mu.Lock()
	defer pool.mu.Unlock()
	for _, i := range pool.idle {
		i.trim()
	}
}

// Running returns how many calls of a plugin run.
func Running(p sdk.Plugin) int { return len(p.(*plugin).pool.slots) }

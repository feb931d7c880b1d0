package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// startGC is the GC percentage until the first collection, which then comes at 8 MB of memory instead of 4. A run with a short answer takes 4
// MB and therefore ends before the first collection, which would take 4 ms of CPU time.
const startGC = 200

// delayCollection delays the first garbage collection. It does nothing if the user set GOGC.
func delayCollection() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(startGC)
	runtime.AddCleanup(new([64]byte), func(usual int) { endDelay(usual) }, usual)
}

// endDelay runs after the first collection. It keeps a percentage that was set in the meantime, such as for a long answer.
func endDelay(usual int) {
	if now := debug.SetGCPercent(usual); now != startGC {
		debug.SetGCPercent(now)
	}
}

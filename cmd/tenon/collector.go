package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// startGC is the percentage of garbage collection until the first collection: it comes at 8 MB of memory instead of at 4. A start and a
// short answer take 4 MB and end before it; a collection would take 4 ms of CPU.
const startGC = 200

// delayCollection delays the first garbage collection. It does nothing if the user set GOGC.
func delayCollection() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(startGC)
	runtime.AddCleanup(new([64]byte), func(usual int) { endDelay(usual) }, usual)
}

// endDelay runs after the first collection. A percentage that was set since, such as that of a long answer, stays.
func endDelay(usual int) {
	if now := debug.SetGCPercent(usual); now != startGC {
		debug.SetGCPercent(now)
	}
}

package wasm

import (
	"log/slog"
	"runtime"
	"strings"
	"testing"
)

// A guest that logs all of its memory costs the host little. Not beside others: it measures memory.
func TestLogOfMuch(t *testing.T) {
	var out strings.Builder
	p := &plugin{}
	p.log.Store(slog.New(slog.NewTextHandler(&out, nil)))
	text := make([]byte, 32<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p.writeLog(t.Context(), int32(slog.LevelError), text)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
	if !strings.Contains(out.String(), "level=ERROR") {
		t.Errorf("log: %.300q", out.String())
	}
}

package wasm_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// A cache in which nothing can be created, as in the sandbox of commands, costs time and nothing else. Here, longer paths are refused, even to
// root.
func TestCacheIsNotWritable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for limit := syscall.PathMax - 4; len(dir) < limit; { // the final zero byte counts
		dir += "/" + strings.Repeat("d", min(200, max(1, limit-len(dir)-1)))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := cached(t, dir, "counter.wasm"); got != "a" {
		t.Errorf("the module answers %q", got)
	}
}

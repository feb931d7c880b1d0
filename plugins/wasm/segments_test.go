package wasm_test

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/tenonhq/tenon/plugins/wasm/internal/rewrite"
)

// Go's linker makes tens of thousands of data segments, each of which costs memory in every instance.
func TestGoSegmentsAreJoined(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile(goGuest(t, "escape"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := rewrite.Rewrite(module, nil)
	if err != nil {
		t.Fatal(err)
	}
	segments := func(module []byte) uint64 {
		for rest := module[8:]; len(rest) > 0; {
			size, n := binary.Uvarint(rest[1:])
			if rest[0] == 11 {
				count, _ := binary.Uvarint(rest[1+n:])
				return count
			}
			rest = rest[1+n+int(size):]
		}
		return 0
	}
	if before, after := segments(module), segments(out.Wasm); before < 1000 || after > 100 {
		t.Errorf("%d data segments instead of %d, want at most 100", after, before)
	}
}

package plugins_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/tenonhq/tenon/plugins"
)

// BenchmarkLoad loads ten approved packages that did not change.
func BenchmarkLoad(b *testing.B) {
	p := newPlace(b)
	for i := range 10 {
		f := wasmPackage("p"+strconv.Itoa(i), `"capabilities": [{"name": "kv"}], "tools": [{"id": "t", "description": "d", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}}]`)
		f["README.md"], f["LICENSE"] = "text", "text"
		p.write("config/plugins/p"+strconv.Itoa(i), f)
	}
	p.approve()
	// Digests of files that have just been written are not remembered.
	settled := time.Now().Add(2100 * time.Millisecond)
	for time.Now().Before(settled) {
		<-time.After(time.Until(settled))
	}
	p.load()
	b.ReportAllocs()
	for b.Loop() {
		loaded, err := plugins.Load(b.Context(), p.options)
		if err != nil || len(loaded.Plugins) != 10 {
			b.Fatal(err, states(loaded))
		}
	}
}

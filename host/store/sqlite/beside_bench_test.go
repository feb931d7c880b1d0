package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// besideMegabytes is the size of the session that is imported unless TENON_IMPORT_MB says otherwise.
const besideMegabytes = 10

// largeImport returns a session of about so many megabytes: a fifth of it prose, the rest output of tools.
func largeImport(id string, megabytes int) store.Import {
	v := newVocabulary()
	prose, output := v.text(5000), v.text(20_000)
	in := store.Import{Session: newSession(id)}
	for i := 0; i*25_000 < megabytes<<20; i++ {
		m := newMessage(id, i)
		parts := newParts(m, i)
		parts[0].(*sdk.TextPart).Text = fmt.Sprint(i, " ", prose)
		parts[1].(*sdk.ToolPart).State.Output = output
		in.Ops = append(in.Ops, store.PutMessage{Message: m})
		for _, p := range parts {
			in.Ops = append(in.Ops, store.PutPart{Part: p})
		}
	}
	return in
}

// BenchmarkBeside measures how long small durable writes of one store wait while another store on the same file makes a large
// change.
func BenchmarkBeside(b *testing.B) {
	megabytes := besideMegabytes
	if v := os.Getenv("TENON_IMPORT_MB"); v != "" {
		var err error
		if megabytes, err = strconv.Atoi(v); err != nil {
			b.Fatal(err)
		}
	}
	path := filepath.Join(b.TempDir(), "tenon.db")
	busy, other := open(b, path), open(b, path)
	defer mustClose(b, busy)
	defer mustClose(b, other)
	token := mustCreate(b, other, "ses_other")
	large := largeImport("ses_large", megabytes)
	n := 0
	load := func() error { return busy.Import(b.Context(), []store.Import{large}, true) }
	beside := func(b *testing.B, before, change func() error) {
		var waits []time.Duration
		for b.Loop() {
			b.StopTimer()
			if err := before(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			done := make(chan error, 1)
			go func() { done <- change() }() // ends with the change, which is waited for
			for running := true; running; n++ {
				begun := time.Now()
				mustAppend(b, other, token, store.PutMessage{Message: newMessage("ses_other", n)})
				waits = append(waits, time.Since(begun))
				select {
				case err := <-done:
					if running = false; err != nil {
						b.Fatal(err)
					}
				case <-time.After(2 * time.Millisecond):
				}
			}
		}
		slices.Sort(waits)
		at := func(share float64) float64 {
			return float64(waits[int(share*float64(len(waits)-1))].Microseconds()) / 1000
		}
		b.ReportMetric(at(0.5), "median-wait-ms")
		b.ReportMetric(at(0.99), "p99-wait-ms")
		b.ReportMetric(at(1), "max-wait-ms")
	}
	none := func() error { return nil }
	b.Run("nothing", func(b *testing.B) {
		beside(b, none, func() error { <-time.After(time.Second); return nil })
	})
	b.Run("import", func(b *testing.B) { beside(b, none, load) })
	b.Run("delete", func(b *testing.B) {
		beside(b, load, func() error { return busy.Delete(b.Context(), "ses_large") })
	})
}

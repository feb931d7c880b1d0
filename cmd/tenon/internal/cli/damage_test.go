package cli

import (
	"io"
	"strconv"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host/store"
)

// A user interface reads sessions from several goroutines; each may find damage.
func TestDamageFromManyGoroutines(t *testing.T) {
	t.Parallel()
	a := &App{Screen: &terminal.Screen{Out: io.Discard}}
	var readers sync.WaitGroup
	for n := range 8 {
		readers.Go(func() { // waited for below
			for i := range 2000 {
				row := store.Damage{Type: store.DamagedLedger, Session: strconv.Itoa(n), Message: strconv.Itoa(i)}
				if err := a.WithoutDamage(&store.DamageError{Rows: []store.Damage{row}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	readers.Wait()
}

package database_test

import (
	"errors"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

func connect(t *testing.T) *database.Conn {
	t.Helper()
	c, err := database.Connect(t.Context(), database.Memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// After its first error a transaction does nothing, and keeps that error.
func TestTx(t *testing.T) {
	t.Parallel()
	x := &database.Tx{Ctx: t.Context(), Conn: connect(t)}
	x.Exec("CREATE TABLE t(n INTEGER UNIQUE, s TEXT)")
	x.ExecAll([]string{"INSERT INTO t VALUES(?1, ?2)", "INSERT INTO t VALUES(?1 + 1, ?2)"}, int64(1), "four")
	x.Fail(nil)
	if n := x.Number("SELECT count(*) FROM t"); n != 2 || x.Written != 8 || x.Err() != nil {
		t.Fatalf("%d rows, %d bytes written, %v", n, x.Written, x.Err())
	}
	x.Exec("INSERT INTO t VALUES(1, 'again')")
	first := x.Err()
	if database.Code(first) == 0 || database.Busy(first) || database.Corrupt(first) {
		t.Fatalf("error of a unique column = %v", first)
	}
	x.Fail(errors.New("second"))
	changed, found, rows := x.Exec("DELETE FROM t"), x.First("SELECT 1", func(database.Row) { t.Error("First ran") }), 0
	x.Each("SELECT n FROM t", func(database.Row) { rows++ })
	if changed != 0 || found || rows != 0 || x.Number("SELECT 7") != 0 || x.Err() != first {
		t.Errorf("after an error: %d changed, found %v, %d rows, %v", changed, found, rows, x.Err())
	}
	if x.Annotate("row %d", 3); !errors.Is(x.Err(), first) || x.Err().Error() != "row 3: "+first.Error() {
		t.Errorf("annotated: %v", x.Err())
	}
}

func TestPool(t *testing.T) {
	t.Parallel()
	p := database.NewPoolOf(connect(t))
	err := p.Read(t.Context(), func(x *database.Tx) {
		list := database.All(x, "SELECT value FROM json_each('[3,1]')", func(r database.Row) int64 { return r.Int(0) })
		if len(list) != 2 || list[0] != 3 || list[1] != 1 {
			t.Errorf("All = %v", list)
		}
	})
	if err = errors.Join(err, p.Close()); err != nil {
		t.Fatal(err)
	}
	if err := p.Read(t.Context(), func(*database.Tx) {}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Read after Close = %v, want ErrClosed", err)
	}
}

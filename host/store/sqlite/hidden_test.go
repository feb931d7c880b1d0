package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// many returns a session of several portions.
func many(id string) store.Import {
	in := store.Import{Session: aSession(id)}
	for i := range 400 {
		in.Ops = append(in.Ops, store.PutMessage{Message: aMessage(id, i)}, store.PutPart{Part: aPart(id, i, fmt.Sprintf("text %d of %s", i, strings.Repeat("many words ", 40)))},
			store.PutLedger{MessageID: aMessage(id, i).ID, Entries: []byte("[]")})
	}
	for i := range 3 {
		in.Ops = append(in.Ops, store.PutBlob{Content: append(noise(300<<10), byte(i))})
	}
	return in
}

// Large changes are made in many transactions and leave nothing but their outcome.
func TestPortions(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	before := state(t, s)
	step := func(what string, change func() error) {
		t.Helper()
		if err := change(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		wantClear(t, s)
	}
	in := []store.Import{many("ses_a")}
	step("import", func() error { return s.Import(t.Context(), in, false) })
	imported := state(t, s)
	step("import again", func() error { return s.Import(t.Context(), in, true) })
	if state(t, s) != imported {
		t.Error("an import over itself changes what is there")
	}
	step("delete", func() error { return s.Delete(t.Context(), "ses_a") })
	if state(t, s) != before {
		t.Errorf("a deletion leaves\n%s", describe(t, s))
	}
}

// Others can write while an import is under way.
func TestWriteBesideImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, other := openAt(t, dir), openAt(t, dir)
	token := createIn(t, other, "ses_other")
	in := []store.Import{many("ses_a")}
	for n := range 100 {
		done := make(chan error, 1)
		go func() { done <- s.Import(t.Context(), in, true) }() // ends with the import, which is waited for
		for leftBehind(t, other) == 0 && len(done) == 0 {
			runtime.Gosched() // until it has begun
		}
		appendTo(t, other, token, store.PutMessage{Message: aMessage("ses_other", n)})
		under := leftBehind(t, other) > 0 && len(texts(t, other, "ses_other")) == 0 && len(done) == 0
		must(t, <-done)
		if under {
			return
		}
	}
	t.Error("no write was made while an import was under way")
}

// An import that is called off leaves nothing.
func TestImportCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	must(t, s.Import(t.Context(), []store.Import{generation("ses_a", 1, false)}, false))
	in := []store.Import{many("ses_a")}
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Import(ctx, in, true) }() // ends with the import, which is waited for
		for leftBehind(t, s) == 0 && len(done) == 0 {
			runtime.Gosched() // until it has begun
		}
		cancel()
		err := <-done
		onWriter(t, s, func(context.Context, *database.Conn) error { return nil }) // what was under way is done
		if err == nil {
			continue // it was quicker
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("Import = %v", err)
		}
		if n := len(texts(t, s, "ses_a")); n != importedMessages && n != 400 {
			t.Errorf("%d messages of an import that was called off", n)
		}
		must(t, s.Close())
		s = openAt(t, dir)
		_, err = s.Collect(t.Context(), store.GC{}) // it may have been called off when all was done but the clearing up
		must(t, err)
		wantClear(t, s)
		return
	}
	t.Error("no import was called off in time")
}

// A session row would make a session visible before it is complete.
func TestImportOfRow(t *testing.T) {
	t.Parallel()
	s, in := openAt(t, t.TempDir()), many("ses_a")
	in.Ops = append(in.Ops, store.PutSession{Session: in.Session})
	if err := s.Import(t.Context(), []store.Import{in}, false); err == nil {
		t.Error("an import with a session row among its operations was accepted")
	}
	wantClear(t, s)
}

// An open turn of an import is not interrupted before the session is visible.
func TestImportOfOpenTurn(t *testing.T) {
	t.Parallel()
	s, in := openAt(t, t.TempDir()), many("ses_a")
	in.Ops = append([]store.Op{store.SetTurn{Open: true}}, in.Ops...)
	m, err := newStaged(&in)
	must(t, err)
	must(t, s.stage(t.Context(), m))
	must(t, s.node.Drop()) // as if its process had died
	if left, err := s.Interrupted(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("interrupted: %v, %v", left, err)
	}
	must(t, s.ifRoom(t.Context(), []*staged{m}, false, func(x *database.Tx, keys []int64) {
		s.publish(x, []*staged{m}, keys)
	}))
	if left, err := s.Interrupted(t.Context()); err != nil || len(left) != 1 {
		t.Errorf("interrupted: %v, %v; want the imported session", left, err)
	}
}

// Rows of an import by a live process stay while other processes clean up.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, other := openAt(t, dir), openAt(t, dir)
	in := many("ses_a")
	m, err := newStaged(&in)
	must(t, err)
	must(t, s.stage(t.Context(), m))
	got, err := other.Collect(t.Context(), store.GC{})
	must(t, err)
	if got.Leftovers != 0 || got.Skipped != 0 || got.Blobs != 0 {
		t.Errorf("a live import looks like %+v", got)
	}
	must(t, s.ifRoom(t.Context(), []*staged{m}, false, func(x *database.Tx, keys []int64) {
		s.publish(x, []*staged{m}, keys)
	}))
	if n := len(texts(t, s, "ses_a")); n != 400 {
		t.Errorf("%d texts, want 400", n)
	}
	second, err := newStaged(&in)
	must(t, err)
	must(t, s.stage(t.Context(), second))
	must(t, s.Close()) // without publishing it
	for _, dry := range []bool{true, false} {
		got, err = other.Collect(t.Context(), store.GC{DryRun: dry})
		must(t, err)
		if got.Leftovers != 1 {
			t.Errorf("dry %v: collected %+v, want 1 leftover", dry, got)
		}
	}
	wantClear(t, other)
}

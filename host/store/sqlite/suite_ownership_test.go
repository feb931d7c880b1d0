package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/tenonhq/tenon/host/store"
)

func testCreate(t *testing.T, e *env) {
	want := session("ses_a")
	token, err := e.Create(t.Context(), want)
	e.must(err)
	equal(t, "token", token, store.Token{Session: "ses_a", Epoch: 1})
	got, seq, err := e.Session(t.Context(), "ses_a")
	e.must(err)
	equal(t, "session", got, want)
	equal(t, "seq", seq, uint64(1))
	wantErr(t, "Create of a taken identifier", failure(e.Create(t.Context(), want)), store.ErrExists)
	equal(t, "seq of the next change", e.change(token, store.PutSession{Session: want}), uint64(2))
}

func testClaim(t *testing.T, e *env) {
	e.create("ses_a")
	e.reopen()
	other := e.open()
	token := e.claim("ses_a")
	equal(t, "token", token, store.Token{Session: "ses_a", Epoch: 2})
	wantOwned(t, other, "ses_a")
	e.must(e.Release(t.Context(), token))
	gives(e, "token of the other node", store.Token{Session: "ses_a", Epoch: 3})(other.Claim(t.Context(), "ses_a"))
	wantOwned(t, e, "ses_a")
	e.must(other.Close())
	equal(t, "token after the other node closed", e.claim("ses_a"), store.Token{Session: "ses_a", Epoch: 4})
}

func wantOwned(t *testing.T, s store.Store, id string) {
	t.Helper()
	owner := ownerOf(t, "Claim of an owned session", failure(s.Claim(t.Context(), id)))
	equal(t, "owner", owner, store.OwnedError{Session: id, PID: os.Getpid()})
}

// ownerOf ends the test unless the error is an OwnedError, and returns it.
func ownerOf(t *testing.T, what string, err error) store.OwnedError {
	t.Helper()
	var owned *store.OwnedError
	if !errors.As(err, &owned) {
		t.Fatalf("%s = %v, want *OwnedError", what, err)
	}
	return *owned
}

func wantFenced(t *testing.T, s store.Store, token store.Token) {
	t.Helper()
	_, err := s.Append(t.Context(), token, []store.Op{store.PutMessage{Message: user(token.Session, "msg_late")}})
	wantErr(t, fmt.Sprintf("Append with epoch %d", token.Epoch), err, store.ErrFenced)
	wantErr(t, fmt.Sprintf("empty Append with epoch %d", token.Epoch), failure(s.Append(t.Context(), token, nil)), store.ErrFenced)
}

func testClaimAgain(t *testing.T, e *env) {
	first := e.create("ses_a")
	second := e.claim("ses_a")
	equal(t, "epoch", second.Epoch, first.Epoch+1)
	wantFenced(t, e, first)
	e.change(second, put(user("ses_a", "msg_1"))...)
	equal(t, "messages", len(e.read("ses_a", store.Page{})), 1)
	for _, forged := range []uint64{0, second.Epoch + 1, 1 << 62} {
		wantFenced(t, e, store.Token{Session: "ses_a", Epoch: forged})
	}
}

// A node that was thought dead and comes back must not write over its successor.
func testLateWriter(t *testing.T, e *env) {
	late := e.create("ses_a")
	e.change(late, put(user("ses_a", "msg_1"))...)
	e.must(e.Release(t.Context(), late))
	next := e.open()
	token := next.claim("ses_a")
	wantFenced(t, e, late)
	wantFenced(t, e, token) // the token is right, but it is not this node's
	next.change(token, put(user("ses_a", "msg_2"))...)
	equal(t, "messages", len(e.read("ses_a", store.Page{})), 2)
}

// A node's claims are identified by session and epoch: giving up an earlier claim must not take away the
// later one of the same node.
func testStaleRelease(t *testing.T, e *env) {
	first := e.create("ses_a")
	second := e.claim("ses_a")
	e.must(e.Release(t.Context(), first))
	e.change(second, put(user("ses_a", "msg_1"))...)
	wantOwned(t, e.open(), "ses_a")
	third := e.claim("ses_a")
	equal(t, "epoch", third.Epoch, second.Epoch+1)
	e.must(e.Release(t.Context(), second))
	e.change(third, put(user("ses_a", "msg_2"))...)
}

func testRelease(t *testing.T, e *env) {
	token := e.create("ses_a")
	e.must(e.Release(t.Context(), token))
	wantFenced(t, e, token)
	e.must(e.Release(t.Context(), token))
	e.must(e.Release(t.Context(), store.Token{Session: "ses_unknown", Epoch: 1}))
	equal(t, "epoch", e.claim("ses_a").Epoch, token.Epoch+1)
}

// A session that is imported again after it was deleted must fence those who still hold the old one.
func testEpochAfterDelete(t *testing.T, e *env) {
	before := e.create("ses_a")
	e.must(e.Delete(t.Context(), "ses_a"))
	wantErr(t, "Append to a deleted session", failure(e.Append(t.Context(), before, nil)), store.ErrNotFound)
	after := e.create("ses_a")
	equal(t, "epoch", after.Epoch, before.Epoch+1)
	wantFenced(t, e, before)
}

func testInterrupted(t *testing.T, e *env) {
	want := func(s *env, want ...string) {
		t.Helper()
		gives(e, "interrupted", want)(s.Interrupted(t.Context()))
	}
	other := e.open()
	open, idle := e.create("ses_open"), e.create("ses_idle")
	released, closed := e.create("ses_released"), e.create("ses_closed")
	for _, token := range []store.Token{open, released, closed} {
		e.change(token, store.SetTurn{Open: true})
	}
	e.change(closed, store.SetTurn{Open: false})
	e.change(idle, put(user("ses_idle", "msg_1"))...)
	want(e)
	want(other)
	e.must(e.Release(t.Context(), released))
	want(e, "ses_released")
	want(other, "ses_released")
	e.must(e.Close())
	want(other, "ses_open", "ses_released")
	token := other.claim("ses_open")
	want(other, "ses_released")
	other.change(token, store.SetTurn{Open: false})
	e.must(other.Release(t.Context(), token))
	want(other, "ses_released")
}

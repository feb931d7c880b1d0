package sqlite_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// TestStore checks what store.Store promises: the meaning of every method, seen from outside. A second backend would have to
// pass the same tests.
func TestStore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T, *env){
		"create":                    testCreate,
		"claim":                     testClaim,
		"claim again fences":        testClaimAgain,
		"late writer is refused":    testLateWriter,
		"stale release is harmless": testStaleRelease,
		"release":                   testRelease,
		"epochs outlive deletion":   testEpochAfterDelete,
		"interrupted":               testInterrupted,
		"append is atomic":          testAtomic,
		"bad neighbours":            testBadNeighbours,
		"values are copied":         testValuesCopied,
		"streamed text":             testStreamedText,
		"streamed arguments":        testStreamedArguments,
		"unknown data":              testUnknownData,
		"random changes":            testRandom,
		"pages":                     testPages,
		"listing":                   testListing,
		"listing continued":         testListingContinued,
		"prompts":                   testPrompts,
		"prompts and turns":         testPromptTaken,
		"tasks":                     testTodos,
		"ledger":                    testLedger,
		"blobs":                     testBlobs,
		"blobs of deleted sessions": testBlobsDeleted,
		"delete":                    testDelete,
		"delete refuses":            testDeleteOwned,
		"not found":                 testNotFound,
		"cancelled":                 testCancelled,
		"closed":                    testClosed,
		"close while writing":       testCloseWhileWriting,
		"hammer":                    testHammer,
		"two nodes":                 testTwoNodes,
		"approvals":                 testApprovals,
		"archived":                  testArchived,
		"import":                    testImport,
		"import replaces":           testImportReplaces,
		"import refuses":            testImportRefuses,
		"search":                    testSearch,
		"search follows changes":    testSearchChanges,
		"search selects":            testSearchSelects,
		"collect blobs":             testCollectBlobs,
		"collect sessions":          testCollectSessions,
		"damage":                    testDamage,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, (&env{T: t, dir: t.TempDir()}).open())
		})
	}
}

// env is a store under test. Its helpers end the test when the store fails.
type env struct {
	*testing.T
	store.Store
	dir string
}

// open opens the store once more, as another node. It is closed when the test ends.
func (e *env) open() *env {
	e.Helper()
	s := open(e.T, e.path())
	e.Cleanup(func() { _ = s.Close() }) // tests that care look at what Close returns
	return &env{T: e.T, Store: s, dir: e.dir}
}

func (e *env) path() string { return filepath.Join(e.dir, "tenon.db") }

// reopen closes the store and opens it again.
func (e *env) reopen() {
	e.Helper()
	e.must(e.Close())
	e.Store = e.open().Store
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// untouched checks that a session has no tasks, no ledger and no open turn, and gives it up.
func (e *env) untouched(token store.Token) {
	e.Helper()
	todos, err := e.Todos(e.Context(), token.Session)
	e.must(err)
	equal(e.T, "todos", len(todos), 0)
	entries, err := e.Ledger(e.Context(), token.Session, "")
	e.must(err)
	equal(e.T, "ledger", len(entries), 0)
	e.must(e.Release(e.Context(), token))
	gives(e, "interrupted", []string(nil))(e.Interrupted(e.Context()))
}

// create creates a session with the identifier.
func (e *env) create(id string) store.Token {
	e.Helper()
	return e.createAs(id, func(*sdk.Session) {})
}

// createAs creates a session that change has changed.
func (e *env) createAs(id string, change func(*sdk.Session)) store.Token {
	e.Helper()
	s := session(id)
	change(s)
	t, err := e.Create(e.Context(), s)
	e.must(err)
	return t
}

// left checks the identifiers that a listing of all sessions has.
func (e *env) left(ids ...string) {
	e.Helper()
	equal(e.T, "sessions", e.list(store.Query{Children: true}), ids)
}

func (e *env) claim(id string) store.Token {
	e.Helper()
	t, err := e.Claim(e.Context(), id)
	e.must(err)
	return t
}

// change appends and returns the seq.
func (e *env) change(t store.Token, ops ...store.Op) uint64 {
	e.Helper()
	seq, err := e.Append(e.Context(), t, ops)
	e.must(err)
	return seq
}

// read returns a page as JSON, one message a line.
func (e *env) read(session string, p store.Page) []string {
	e.Helper()
	ms, err := e.Messages(e.Context(), session, p)
	e.must(err)
	out := []string{}
	for _, m := range ms {
		out = append(out, toJSON(e.T, m))
	}
	return out
}

// rows returns all changes after seq.
func (e *env) rows(session string, after uint64) []store.Row {
	e.Helper()
	rows, err := e.Changes(e.Context(), session, after, 0)
	e.must(err)
	return rows
}

// gives checks the result of a call that must succeed: gives(e, "session", want)(e.Session(ctx, id)).
func gives[T any](e *env, what string, want T) func(got T, err error) {
	return func(got T, err error) {
		e.Helper()
		e.must(err)
		equal(e.T, what, got, want)
	}
}

// check fails the test on an error. It may be called from any goroutine.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// failure returns the error of a call that should fail.
func failure[T any](_ T, err error) error { return err }

// wantErr fails the test unless the error wraps another one. It may be called from any goroutine.
func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

func session(id string) *sdk.Session {
	return &sdk.Session{ID: id, Slug: "quiet-fox", ProjectID: "global", Directory: "/src", Title: "Title of " + id,
		Version: "1", Time: sdk.SessionTime{Created: 1000, Updated: 1000}}
}

func user(session, id string) *sdk.UserMessage {
	return &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: id, SessionID: session}, Agent: "build",
		Time: sdk.MessageTime{Created: 1}, Model: sdk.ModelRef{ProviderID: "p", ModelID: "m"}}
}

func assistant(session, id string) *sdk.AssistantMessage {
	return &sdk.AssistantMessage{MessageHead: sdk.MessageHead{ID: id, SessionID: session}, ParentID: "msg_0",
		ModelID: "m", ProviderID: "p", Mode: "build", Agent: "build", Time: sdk.MessageTime{Created: 2}}
}

func head(m sdk.Message, id string) sdk.PartHead {
	return sdk.PartHead{ID: id, SessionID: m.Head().SessionID, MessageID: m.Head().ID}
}

func text(m sdk.Message, id, s string) *sdk.TextPart {
	return &sdk.TextPart{PartHead: head(m, id), Text: s}
}

func put(m sdk.Message, parts ...sdk.Part) []store.Op {
	ops := []store.Op{store.PutMessage{Message: m}}
	for _, p := range parts {
		ops = append(ops, store.PutPart{Part: p})
	}
	return ops
}

func number(prefix string, i int) string { return fmt.Sprintf("%s_%04d", prefix, i) }

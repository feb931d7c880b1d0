package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

// The test binary runs itself as a process that writes: the variable says in which way, the first
// argument where.
const childVar = "TENON_SQLITE_TEST_CHILD"

func TestMain(m *testing.M) {
	children := map[string]func(context.Context, string) error{
		"crash": crashChild, "pair": pairChild, "import": importChild, "migrate": migrateChild, "collect": collectChild,
		"repair": repairChild, "rebuild": rebuildChild,
	}
	if child := children[os.Getenv(childVar)]; child != nil {
		if err := child(context.Background(), os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// openAt opens the store in dir. It is closed, if the test did not do so, when the test ends.
func openAt(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: filepath.Join(dir, "tenon.db"), Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// onWriter runs f on the writer's connection, in a transaction.
func onWriter(t *testing.T, s *Store, f func(context.Context, *database.Conn) error) {
	t.Helper()
	must(t, s.submit(t.Context(), func(x *database.Tx) { x.Fail(f(x.Ctx, x.Conn)) }))
}

func script(t *testing.T, s *Store, sql string) {
	t.Helper()
	onWriter(t, s, func(ctx context.Context, c *database.Conn) error { return c.Script(ctx, sql) })
}

// wantSound fails unless SQLite finds nothing wrong with the file.
func wantSound(t *testing.T, s *Store) {
	t.Helper()
	must(t, s.Check(t.Context(), ""))
}

func aSession(id string) *sdk.Session {
	return &sdk.Session{ID: id, Directory: "/src", Title: "title", Version: "1"}
}

func aMessage(session string, n int) *sdk.UserMessage {
	return &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: fmt.Sprintf("msg_%06d", n), SessionID: session}}
}

func aPart(session string, n int, text string) *sdk.TextPart {
	return &sdk.TextPart{Text: text, PartHead: sdk.PartHead{
		ID: fmt.Sprintf("prt_%06d", n), SessionID: session, MessageID: fmt.Sprintf("msg_%06d", n)}}
}

func createIn(t *testing.T, s *Store, id string) store.Token {
	t.Helper()
	token, err := s.Create(t.Context(), aSession(id))
	must(t, err)
	return token
}

func appendTo(t *testing.T, s *Store, token store.Token, ops ...store.Op) {
	t.Helper()
	_, err := s.Append(t.Context(), token, ops)
	must(t, err)
}

// texts returns the text of each message's part.
func texts(t *testing.T, s *Store, session string) []string {
	t.Helper()
	ms, err := s.Messages(t.Context(), session, store.Page{})
	must(t, err)
	out := []string{}
	for _, m := range ms {
		for _, p := range m.Parts {
			out = append(out, p.(*sdk.TextPart).Text)
		}
	}
	return out
}

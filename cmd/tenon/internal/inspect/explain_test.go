package inspect

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/sdk"
)

// storeWithLedger returns a store with one session of two steps, the second changed by two plugins.
func storeWithLedger(t *testing.T) store.Store {
	t.Helper()
	ctx := context.Background()
	s, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "tenon.db"), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	token, err := s.Create(ctx, &sdk.Session{ID: "ses_1", Slug: "a", ProjectID: "global", Directory: "/proj", Title: "t", Time: sdk.SessionTime{Created: 1, Updated: 1}})
	if err != nil {
		t.Fatal(err)
	}
	message := func(id string) store.Op {
		return store.PutMessage{Message: &sdk.AssistantMessage{MessageHead: sdk.MessageHead{ID: id, SessionID: "ses_1"}, Time: sdk.MessageTime{Created: 1}}}
	}
	ledger := func(message string, purpose sdk.Purpose, entries ...hooks.Entry) store.Op {
		raw, err := json.Marshal(entries)
		if err != nil {
			t.Fatal(err)
		}
		return store.PutLedger{MessageID: message, Purpose: purpose, Entries: raw}
	}
	changed := func(plugin, hash, next string) hooks.Entry {
		return hooks.Entry{
			Firing: 1, Point: sdk.PointChatSystem, Plugin: plugin, Version: "1.0", Hook: "chat.system.transform",
			Outcome: hooks.OutcomeChanged, DurationUS: 12, Changes: []hooks.EntryChange{{Pointer: "/system/0", Old: hash, New: next}},
		}
	}
	_, err = s.Append(ctx, token, []store.Op{
		message("msg_1"), message("msg_2"),
		ledger("msg_1", sdk.PurposeTurn, hooks.Entry{
			Firing: 1, Point: sdk.PointPermissionAsk, Plugin: "gate", Hook: "strict", Subject: "call_1",
			Outcome: hooks.OutcomeDenied, Reason: "not\x1b[31m today", DurationUS: 1500, Dropped: []string{"/args"},
		}),
		ledger("msg_1", sdk.PurposeTurn, hooks.Entry{Firing: 1, Point: sdk.PointTurnStop, Plugin: "gate", Hook: "turn.stop", Outcome: hooks.OutcomeUnchanged, DurationUS: 5}),
		ledger("msg_2", sdk.PurposeTurn, changed("alpha", "00aa", "11bb"), changed("beta", "11bb", "22cc")),
		ledger("msg_2", sdk.PurposeTitle, hooks.Entry{Firing: 1, Point: sdk.PointChatParams, Plugin: "slow", Hook: "chat.params", Outcome: hooks.OutcomeTimeout, Error: "took longer than 2s", DurationUS: 2_000_000}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestExplain(t *testing.T) {
	t.Parallel()
	list, steps, err := ReadLedger(t.Context(), storeWithLedger(t), "ses_1", nil, func(err error) error { return err })
	if err != nil {
		t.Fatal(err)
	}
	if steps != 2 || len(list) != 4 {
		t.Fatalf("%d steps and %d requests, want 2 and 4", steps, len(list))
	}
	conflicts := []hooks.Conflict{{Point: sdk.PointChatSystem, Pointer: "/system/0", Plugins: []string{"alpha", "beta"}, Winner: "beta"}}
	if diff := cmp.Diff(conflicts, list[2].Conflicts); diff != "" {
		t.Errorf("conflicts (-want +have):\n%s", diff)
	}
	var b strings.Builder
	c := &terminal.Screen{}
	ExplainRequests(c, &b, list)
	want, err := os.ReadFile("testdata/explain.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("explanation (-want +have):\n%s", diff)
	}
}

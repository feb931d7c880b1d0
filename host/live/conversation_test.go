package live

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// damagedStore has a session of messages with the IDs 0, 1, 2, …, of which those from 10 to 10+damaged cannot be read. Before each of these is a
// damaged part of a message that is missing. With lost, the session begins with a part whose message is missing.
type damagedStore struct {
	store.Store
	messages, damaged int
	lost              bool
}

func (s *damagedStore) Messages(_ context.Context, _ string, p store.Page) (out []sdk.MessageWithParts, _ error) {
	var rows []store.Damage
	end := s.messages
	if p.Before != "" {
		before, err := strconv.Atoi(p.Before)
		if err != nil {
			return nil, store.ErrNotFound
		}
		end = before
	}
	for i := max(0, end-p.Limit); i < end; i++ {
		if id := fmt.Sprint(i); i >= 10 && i < 10+s.damaged {
			rows = append(rows, store.Damage{Type: store.DamagedPart, ID: "prt_" + id}, store.Damage{Type: store.DamagedMessage}, store.Damage{Type: store.DamagedMessage, ID: id})
		} else {
			out = append(out, sdk.MessageWithParts{Info: &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: id}}})
		}
	}
	if s.lost && end < p.Limit {
		rows = append(rows, store.Damage{Type: store.DamagedMessage, ID: "lost"})
		out = append([]sdk.MessageWithParts{{Info: store.StandIn(sdk.MessageHead{ID: "lost"}, nil, nil)}}, out...)
	}
	if len(rows) > 0 {
		return out, &store.DamageError{Rows: rows}
	}
	return out, nil
}

// A page without a message that can be read does not hide those before it.
func TestLoadPassesDamage(t *testing.T) {
	t.Parallel()
	for _, damaged := range []int{0, 1, loadPage, 3 * loadPage} {
		s := &damagedStore{messages: damaged + 20, damaged: damaged}
		messages, _, err := Load(t.Context(), s, "ses_1")
		if err != nil || len(messages) != 20 || messages[0].Info.Head().ID != "0" {
			t.Errorf("%d damaged messages: Load() = %d messages, %v; want 20", damaged, len(messages), err)
		}
	}
}

// A session that begins with parts of a missing message can be read, however many rows its first page has.
func TestLoadWithoutFirstMessage(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, loadPage - 2, loadPage - 1, loadPage, 2*loadPage - 1} {
		messages, _, err := Load(t.Context(), &damagedStore{messages: n, lost: true}, "ses_1")
		if err != nil || len(messages) != n+1 || messages[0].Info.Head().ID != "lost" {
			t.Errorf("%d messages after a missing one: Load() = %d messages, %v", n, len(messages), err)
		}
	}
}

// sessionStore keeps the session rows that were put, and calls before before it appends.
type sessionStore struct {
	store.Store
	before func()
	rows   []sdk.Session
}

func (s *sessionStore) Append(_ context.Context, _ store.Token, ops []store.Op) (uint64, error) {
	s.before()
	for _, op := range ops {
		if p, ok := op.(store.PutSession); ok {
			s.rows = append(s.rows, *p.Session)
		}
	}
	return 0, nil
}

func (s *sessionStore) Messages(context.Context, string, store.Page) ([]sdk.MessageWithParts, error) {
	return nil, nil
}

// A title that arrives while messages are removed is kept.
func TestRemoveMessagesKeepsUpdates(t *testing.T) {
	t.Parallel()
	s := &sessionStore{}
	c := &Conversation{Journal: newJournal(t.Context(), s, store.Token{}, func(sdk.Event) {}), session: &sdk.Session{Revert: &sdk.Revert{}}}
	s.before = sync.OnceFunc(func() { c.UpdateSession(func(s *sdk.Session) { s.Title = "title" }) })
	_, err := c.RemoveMessages(t.Context(), []string{"msg_1"}, func(s *sdk.Session) { s.Revert = nil })
	c.UpdateSession(func(s *sdk.Session) { s.Cost = 1 })
	if err := errors.Join(err, c.Journal.Close()); err != nil {
		t.Fatal(err)
	}
	if last := s.rows[len(s.rows)-1]; last.Title != "title" || last.Revert != nil || last.Cost != 1 {
		t.Errorf("stored session %+v, want all changes", last)
	}
}

// Changes of the session by several goroutines are stored in the order in which they were made: the last row has all of them.
func TestSessionUpdatesInOrder(t *testing.T) {
	t.Parallel()
	s := &sessionStore{before: func() {}}
	c := &Conversation{Journal: newJournal(t.Context(), s, store.Token{}, func(sdk.Event) {}), session: &sdk.Session{}}
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for range 2000 {
				c.UpdateSession(func(s *sdk.Session) { s.Cost++ })
			}
		})
	}
	running.Wait()
	if err := c.Journal.Close(); err != nil {
		t.Fatal(err)
	}
	for i, row := range s.rows {
		if row.Cost != sdk.USD(i+1) {
			t.Fatalf("row %d has the cost %v", i, row.Cost)
		}
	}
}

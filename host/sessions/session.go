// Package sessions creates, finds, forks and recovers sessions.
package sessions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// New describes a new session. The zero value is a root session with a default title.
type New struct {
	Title      string
	ParentID   string
	Agent      string
	Permission sdk.PermissionRules
}

// Keeper creates, finds and recovers sessions. Set the exported fields. Safe for use from many goroutines.
type Keeper struct {
	Store   store.Store
	IDs     *live.IDs
	Project sdk.Project
	Version string // of tenon, for session rows
	Log     *slog.Logger
	Publish func(sdk.Event)
	Observe func(p sdk.Point, in any)
	Notice  func(sdk.PluginNotice)

	fresh   sync.Map // by session, the store.Token of a session that was created but not yet prompted
	seen    sync.Map // by ID, the sdk.Session of sessions for which session.start was fired; used for session.end
	damaged sync.Map // set of store.Damage: rows that the user was notified of
}

// DefaultTitle begins the titles of sessions that have none yet, as in opencode.
const DefaultTitle = "New session - "

// Create stores a new session. Errors: those of the store.
func (h *Keeper) Create(ctx context.Context, n New) (*sdk.Session, error) {
	created := live.Now()
	s := &sdk.Session{
		ID: h.IDs.New(sdk.PrefixSession), Slug: slug(), ParentID: n.ParentID, Title: n.Title, Agent: n.Agent, Version: h.Version, Permission: n.Permission,
		Time: sdk.SessionTime{Created: created, Updated: created},
	}
	h.place(s)
	if s.Title == "" {
		s.Title = DefaultTitle + time.UnixMilli(created).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	token, err := h.Store.Create(ctx, s)
	if err != nil {
		return nil, err
	}
	h.fresh.Store(s.ID, token)
	h.Publish(sdk.Event{Type: sdk.EventSessionCreated, Properties: &sdk.SessionInfo{SessionID: s.ID, Info: *s}})
	return s, nil
}

// place fills in the project of a new session.
func (h *Keeper) place(s *sdk.Session) {
	s.ProjectID, s.Directory, s.Path = h.Project.ID, store.Directory(h.Project.Directory), ""
	if rel, err := filepath.Rel(h.Project.Worktree, h.Project.Directory); err == nil && rel != "." {
		s.Path = filepath.ToSlash(rel)
	}
}

// Find returns a session by its identifier, or ErrNotFound.
func (h *Keeper) Find(ctx context.Context, id string) (*sdk.Session, error) {
	s, _, err := h.Store.Session(ctx, id)
	return s, err
}

// Root returns the topmost parent of a session, or the session itself without a parent. Errors: as Find.
func (h *Keeper) Root(ctx context.Context, id string) (string, error) {
	for {
		s, err := h.Find(ctx, id)
		if err != nil || s.ParentID == "" {
			return id, err
		}
		id = s.ParentID
	}
}

// Claim claims the session, or returns the claim it was created with.
func (h *Keeper) Claim(ctx context.Context, session string) (store.Token, error) {
	if token, ok := h.fresh.LoadAndDelete(session); ok {
		return token.(store.Token), nil
	}
	return h.Store.Claim(ctx, session)
}

// Started fires session.start, once per session.
func (h *Keeper) Started(s *sdk.Session) {
	if _, known := h.seen.Swap(s.ID, *s); !known {
		h.Observe(sdk.PointSessionStart, &sdk.SessionInput{SessionID: s.ID, Session: *s})
	}
}

// End fires session.end for every session that was started.
func (h *Keeper) End(ctx context.Context) {
	for key, value := range h.seen.Range {
		id, s := key.(string), value.(sdk.Session)
		if latest, _, err := h.Store.Session(ctx, id); err == nil {
			s = *latest
		}
		h.Observe(sdk.PointSessionEnd, &sdk.SessionInput{SessionID: id, Session: s})
	}
}

// LeftOut notifies the user, once for each row, of damaged rows that the model does not get.
func (h *Keeper) LeftOut(rows []store.Damage) {
	for _, row := range rows {
		if _, notified := h.damaged.LoadOrStore(row, true); !notified {
			h.Notice(sdk.PluginNotice{Message: fmt.Sprintf("damaged and left out of the conversation: %s; tenon session repair %s sets it aside", row, row.Session)})
		}
	}
}

// Recover closes turns that were left open by processes that ended.
func (h *Keeper) Recover(ctx context.Context) error {
	left, err := h.Store.Interrupted(ctx)
	if err != nil {
		return err
	}
	for _, id := range left {
		switch err := h.recoverSession(ctx, id); {
		case err == nil, errors.As(err, new(*store.OwnedError)), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrReadOnly):
			// it is closed, another process was faster, or the store cannot be written
		case ctx.Err() != nil:
			return err
		default:
			// Its next prompt resumes it; recovery of the other sessions must not wait for that.
			h.Log.Error("interrupted session cannot be closed", "session", id, "err", err)
		}
	}
	return nil
}

func (h *Keeper) recoverSession(ctx context.Context, id string) error {
	token, err := h.Store.Claim(ctx, id)
	if err != nil {
		return err
	}
	messages, _, err := live.Load(ctx, h.Store, id) // resuming the session reports damage
	if err == nil {
		_, err = h.Store.Append(ctx, token, live.CloseInterrupted(messages))
	}
	return errors.Join(err, h.Store.Release(ctx, token))
}

var (
	adjectives = [...]string{"amber", "brave", "calm", "clever", "eager", "fair", "gentle", "glad", "kind", "lively", "merry", "neat", "proud", "quick", "quiet", "sunny", "swift", "tidy", "warm", "wise"}
	nouns      = [...]string{"badger", "birch", "brook", "cedar", "comet", "falcon", "fern", "harbor", "heron", "island", "lantern", "maple", "meadow", "otter", "pebble", "planet", "river", "sparrow", "tiger", "willow"}
)

// slug returns a human-readable name, such as quiet-otter.
func slug() string {
	return adjectives[rand.IntN(len(adjectives))] + "-" + nouns[rand.IntN(len(nouns))]
}

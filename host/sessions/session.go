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
func (k *Keeper) Create(ctx context.Context, n New) (*sdk.Session, error) {
	created := live.Now()
	s := &sdk.Session{
		ID: k.IDs.New(sdk.PrefixSession), Slug: slug(), ParentID: n.ParentID, Title: n.Title, Agent: n.Agent, Version: k.Version, Permission: n.Permission,
		Time: sdk.SessionTime{Created: created, Updated: created},
	}
	k.place(s)
	if s.Title == "" {
		s.Title = DefaultTitle + time.UnixMilli(created).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	token, err := k.Store.Create(ctx, s)
	if err != nil {
		return nil, err
	}
	k.fresh.Store(s.ID, token)
	k.Publish(sdk.Event{Type: sdk.EventSessionCreated, Properties: &sdk.SessionInfo{SessionID: s.ID, Info: *s}})
	return s, nil
}

// place fills in the project of a new session.
func (k *Keeper) place(s *sdk.Session) {
	s.ProjectID, s.Directory, s.Path = k.Project.ID, store.Directory(k.Project.Directory), ""
	if rel, err := filepath.Rel(k.Project.Worktree, k.Project.Directory); err == nil && rel != "." {
		s.Path = filepath.ToSlash(rel)
	}
}

// Find returns a session by its identifier, or ErrNotFound.
func (k *Keeper) Find(ctx context.Context, id string) (*sdk.Session, error) {
	s, _, err := k.Store.Session(ctx, id)
	return s, err
}

// Root returns the topmost parent of a session, or the session itself without a parent. Errors: as Find.
func (k *Keeper) Root(ctx context.Context, id string) (string, error) {
	for {
		s, err := k.Find(ctx, id)
		if err != nil || s.ParentID == "" {
			return id, err
		}
		id = s.ParentID
	}
}

// Claim claims the session, or returns the claim it was created with.
func (k *Keeper) Claim(ctx context.Context, session string) (store.Token, error) {
	if token, ok := k.fresh.LoadAndDelete(session); ok {
		return token.(store.Token), nil
	}
	return k.Store.Claim(ctx, session)
}

// Started fires session.start, once per session.
func (k *Keeper) Started(s *sdk.Session) {
	if _, known := k.seen.Swap(s.ID, *s); !known {
		k.Observe(sdk.PointSessionStart, &sdk.SessionInput{SessionID: s.ID, Session: *s})
	}
}

// End fires session.end for every session that was started.
func (k *Keeper) End(ctx context.Context) {
	for key, value := range k.seen.Range {
		id, s := key.(string), value.(sdk.Session)
		if latest, _, err := k.Store.Session(ctx, id); err == nil {
			s = *latest
		}
		k.Observe(sdk.PointSessionEnd, &sdk.SessionInput{SessionID: id, Session: s})
	}
}

// ReportDamaged notifies the user, once for each row, of damaged rows that the model does not get.
func (k *Keeper) ReportDamaged(rows []store.Damage) {
	for _, row := range rows {
		if _, notified := k.damaged.LoadOrStore(row, true); !notified {
			k.Notice(sdk.PluginNotice{Message: fmt.Sprintf("damaged and left out of the conversation: %s; tenon session repair %s sets it aside", row, row.Session)})
		}
	}
}

// Recover closes turns that were left open by processes that ended.
func (k *Keeper) Recover(ctx context.Context) error {
	left, err := k.Store.Interrupted(ctx)
	if err != nil {
		return err
	}
	for _, id := range left {
		switch err := k.recoverSession(ctx, id); {
		case err == nil, errors.As(err, new(*store.OwnedError)), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrReadOnly):
			// it is closed, another process was faster, or the store cannot be written
		case ctx.Err() != nil:
			return err
		default:
			// Its next prompt resumes it; recovery of the other sessions must not wait for that.
			k.Log.Error("interrupted session cannot be closed", "session", id, "err", err)
		}
	}
	return nil
}

func (k *Keeper) recoverSession(ctx context.Context, id string) error {
	token, err := k.Store.Claim(ctx, id)
	if err != nil {
		return err
	}
	messages, _, err := live.Load(ctx, k.Store, id) // resuming the session reports damage
	if err == nil {
		_, err = k.Store.Append(ctx, token, live.CloseInterrupted(messages))
	}
	return errors.Join(err, k.Store.Release(ctx, token))
}

var (
	adjectives = [...]string{"amber", "brave", "calm", "clever", "eager", "fair", "gentle", "glad", "kind", "lively", "merry", "neat", "proud", "quick", "quiet", "sunny", "swift", "tidy", "warm", "wise"}
	nouns      = [...]string{"badger", "birch", "brook", "cedar", "comet", "falcon", "fern", "harbor", "heron", "island", "lantern", "maple", "meadow", "otter", "pebble", "planet", "river", "sparrow", "tiger", "willow"}
)

// slug returns a human-readable name, such as quiet-otter.
func slug() string {
	return adjectives[rand.IntN(len(adjectives))] + "-" + nouns[rand.IntN(len(nouns))]
}

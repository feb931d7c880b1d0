package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// NewSession says what a session starts with. The zero value is a root session with a default title.
type NewSession struct {
	Title      string
	ParentID   string
	Agent      string
	Permission sdk.PermissionRules
	Metadata   sdk.Object
}

// defaultTitle and childTitle begin the titles of sessions that have none yet, as opencode's do.
const (
	defaultTitle = "New session - "
	childTitle   = "Child session - "
)

// CreateSession stores a new session. Errors: ErrNotFound for the parent, those of the store.
func (h *Host) CreateSession(ctx context.Context, n NewSession) (*sdk.Session, error) {
	created := live.Now()
	s := &sdk.Session{
		ID: h.ids.New(sdk.PrefixSession), Slug: slug(), ProjectID: h.opts.Project.ID, Directory: h.opts.Project.Directory,
		ParentID: n.ParentID, Title: n.Title, Agent: n.Agent, Version: h.opts.Version, Permission: n.Permission,
		Metadata: n.Metadata, Time: sdk.SessionTime{Created: created, Updated: created},
	}
	if rel, err := filepath.Rel(h.opts.Project.Worktree, s.Directory); err == nil && rel != "." {
		s.Path = filepath.ToSlash(rel)
	}
	if s.Title == "" {
		prefix := defaultTitle
		if s.ParentID != "" {
			prefix = childTitle
		}
		s.Title = prefix + time.UnixMilli(created).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	token, err := h.opts.Store.Create(ctx, s)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.fresh[s.ID] = token
	h.mu.Unlock()
	h.publish(sdk.Event{Type: sdk.EventSessionCreated, Properties: &sdk.SessionInfo{SessionID: s.ID, Info: *s}})
	return s, nil
}

// Session returns a session by its identifier, or ErrNotFound.
func (h *Host) Session(ctx context.Context, id string) (*sdk.Session, error) {
	s, _, err := h.opts.Store.Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("session %q: %w", id, ErrNotFound)
	}
	return s, err
}

// claim takes the session, or the claim it was created with.
func (h *Host) claim(ctx context.Context, session string) (store.Token, error) {
	h.mu.Lock()
	token, ok := h.fresh[session]
	delete(h.fresh, session)
	h.mu.Unlock()
	if ok {
		return token, nil
	}
	token, err := h.opts.Store.Claim(ctx, session)
	if errors.Is(err, store.ErrNotFound) {
		return token, fmt.Errorf("session %q: %w", session, ErrNotFound)
	}
	return token, err
}

// sessionStarted tells session.start of a session once.
func (h *Host) sessionStarted(s *sdk.Session) {
	h.mu.Lock()
	_, known := h.seen[s.ID]
	c := *s
	h.seen[s.ID] = c
	h.mu.Unlock()
	if !known {
		h.observe(sdk.PointSessionStart, &sdk.SessionInput{SessionID: s.ID, Session: c})
	}
}

// endSessions tells session.end of every session that was started.
func (h *Host) endSessions(ctx context.Context) {
	h.mu.Lock()
	seen := h.seen
	h.seen = nil
	h.mu.Unlock()
	for id, s := range seen {
		if latest, _, err := h.opts.Store.Session(ctx, id); err == nil {
			s = *latest
		}
		h.observe(sdk.PointSessionEnd, &sdk.SessionInput{SessionID: id, Session: s})
	}
}

// leftOut tells the user, once for each row, of damaged rows that the model does not get.
func (h *Host) leftOut(rows []store.Damage) {
	for _, row := range rows {
		h.mu.Lock()
		told := h.damaged[row]
		h.damaged[row] = true
		h.mu.Unlock()
		if !told {
			h.notice(sdk.PluginNotice{Message: fmt.Sprintf("damaged and left out of the conversation: %s; tenon session repair %s sets it aside", row, row.Session)})
		}
	}
}

// recover closes the turns that processes which are gone left open.
func (h *Host) recover(ctx context.Context) error {
	left, err := h.opts.Store.Interrupted(ctx)
	if err != nil {
		return err
	}
	for _, id := range left {
		if err := h.recoverSession(ctx, id); err != nil {
			var owned *store.OwnedError
			if errors.As(err, &owned) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrReadOnly) {
				continue // another process was quicker, or nothing can be written
			}
			// It is taken up again with its next prompt; the others must not wait for that.
			h.log.Error("interrupted session cannot be closed", "session", id, "err", err)
		}
	}
	return nil
}

func (h *Host) recoverSession(ctx context.Context, id string) error {
	token, err := h.opts.Store.Claim(ctx, id)
	if err != nil {
		return err
	}
	messages, _, err := live.Load(ctx, h.opts.Store, id) // who goes on with the session is told of damage
	if err == nil {
		_, err = h.opts.Store.Append(ctx, token, live.CloseInterrupted(messages))
	}
	return errors.Join(err, h.opts.Store.Release(ctx, token))
}

var (
	adjectives = [...]string{"amber", "brave", "calm", "clever", "eager", "fair", "gentle", "glad", "kind", "lively", "merry", "neat", "proud", "quick", "quiet", "sunny", "swift", "tidy", "warm", "wise"}
	nouns      = [...]string{"badger", "birch", "brook", "cedar", "comet", "falcon", "fern", "harbor", "heron", "island", "lantern", "maple", "meadow", "otter", "pebble", "planet", "river", "sparrow", "tiger", "willow"}
)

// slug returns a name for people, such as quiet-otter.
func slug() string {
	return adjectives[rand.IntN(len(adjectives))] + "-" + nouns[rand.IntN(len(nouns))]
}

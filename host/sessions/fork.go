package sessions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// Fork creates a session with the messages of another one before messageID; by default with all messages that are not undone. Files do not
// change. The original session is not changed and may be in use. Damaged rows are left out, with a *store.DamageError in addition to the
// fork. Errors: ErrNotFound, errors of the store.
func (k *Keeper) Fork(ctx context.Context, session, messageID string) (*sdk.Session, error) {
	var damage store.Damages
	from, err := k.Find(ctx, session)
	if err = damage.Take(err); err != nil {
		return nil, err
	}
	list, err := k.Store.Messages(ctx, session, store.Page{})
	if err = damage.Take(err); err != nil {
		return nil, err
	}
	end := len(live.WithoutUndone(list, from.Revert))
	if messageID != "" {
		if end = live.IndexOf(list, messageID); end < 0 {
			return nil, fmt.Errorf("message %q: %w", messageID, live.ErrNotFound)
		}
	}
	patches, err := store.SubagentPatches(ctx, k.Store, session)
	if err = damage.Take(err); err != nil {
		return nil, err
	}
	addPatches(list, patches)
	whole := end == len(list)
	list = list[:end]
	live.CloseInterrupted(list) // a running turn continues in the original, not in the copy
	ops, err := store.CopyOps(ctx, k.Store, list, &damage)
	if err != nil {
		return nil, err
	}
	f := &forking{newID: k.IDs.New, session: k.forkOf(from), ids: map[string]string{}}
	f.adopt(list)
	todos, err := k.Store.Todos(ctx, session)
	if err = damage.Take(err); err != nil {
		return nil, err
	}
	if len(todos) > 0 && whole {
		ops = append(ops, store.PutTodos{Todos: todos})
	}
	if err := k.Store.Import(ctx, []store.Import{{Session: f.session, Ops: ops}}, false); err != nil {
		return nil, err
	}
	k.Publish(sdk.Event{Type: sdk.EventSessionCreated, Properties: &sdk.SessionInfo{SessionID: f.session.ID, Info: *f.session}})
	return f.session, damage.Err()
}

// addPatches adds the changes of subagents, which stay with the original session, to the messages that caused them, so that the copy undoes
// them, too.
func addPatches(list []sdk.MessageWithParts, patches []*sdk.PatchPart) {
	for _, p := range patches {
		if n := live.CauseOf(list, p); n >= 0 {
			m := &list[n]
			m.Parts = append(m.Parts, p)
			slices.SortStableFunc(m.Parts, func(a, b sdk.Part) int { return strings.Compare(live.Moment(a.Head().ID), live.Moment(b.Head().ID)) })
		}
	}
}

// forkOf returns the row of a session that continues a copy of another one. The cost of the messages stays with the other session.
func (k *Keeper) forkOf(from *sdk.Session) *sdk.Session {
	created := live.Now()
	s := *from
	s.ID, s.Slug, s.ParentID, s.Version = k.IDs.New(sdk.PrefixSession), slug(), "", k.Version
	k.place(&s)
	if from.ParentID != "" {
		s.Permission = nil // rules of subagents, for the task list and further subagents
	}
	s.Cost, s.Tokens, s.Summary, s.Share, s.Revert = 0, sdk.Tokens{}, nil, nil, nil
	s.Title = forkTitle(from.Title)
	s.Metadata = live.WithKey(from.Metadata, "forkedFrom", from.ID)
	s.Time = sdk.SessionTime{Created: created, Updated: created}
	return &s
}

// forkTitle counts the forks of a title, as opencode does.
func forkTitle(title string) string {
	const form = " (fork #%d)"
	n := 0
	if i := strings.LastIndex(title, " (fork #"); i >= 0 {
		if _, err := fmt.Sscanf(title[i:], form, &n); err == nil && title[i:] == fmt.Sprintf(form, n) {
			title = title[:i]
		}
	}
	return title + fmt.Sprintf(form, n+1)
}

// forking gives copied messages to a new session.
type forking struct {
	newID   func(prefix string) string
	session *sdk.Session
	ids     map[string]string // of messages: the copy's by the original's; a message that was not copied keeps its identifier, which refers to nothing
}

// adopt gives the messages new identifiers. It owns the messages and changes them in place.
func (f *forking) adopt(list []sdk.MessageWithParts) {
	for _, m := range list {
		f.ids[m.Info.Head().ID] = f.newID(sdk.PrefixMessage)
	}
	for _, m := range list {
		*m.Info.Head() = sdk.MessageHead{ID: f.ids[m.Info.Head().ID], SessionID: f.session.ID}
		if a, ok := m.Info.(*sdk.AssistantMessage); ok {
			a.ParentID = cmp.Or(f.ids[a.ParentID], a.ParentID)
		}
		for _, p := range m.Parts {
			*p.Head() = f.newPart(m.Info)
			switch p := p.(type) {
			case *sdk.CompactionPart:
				p.TailStartID = cmp.Or(f.ids[p.TailStartID], p.TailStartID)
			case *sdk.ToolPart:
				for _, file := range p.State.Attachments {
					file.PartHead = f.newPart(m.Info)
				}
			}
		}
	}
}

func (f *forking) newPart(m sdk.Message) sdk.PartHead {
	return sdk.PartHead{ID: f.newID(sdk.PrefixPart), SessionID: f.session.ID, MessageID: m.Head().ID}
}

package undo

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/snapshot"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// markShared marks the loose changes that a session outside of own recorded, too: both worked in the directory at that time, and undo must not
// revert the work of the other one unasked. Only what sessions recorded since the first of the messages to undo counts, also if their message is
// older: its calls may have run for long.
func (f *Files) markShared(ctx context.Context, own map[string]bool, undone []sdk.MessageWithParts, net map[snapshot.Path]*netChange) error {
	if !slices.ContainsFunc(slices.Collect(maps.Values(net)), func(n *netChange) bool { return len(n.loose) > 0 }) {
		return nil // reading thousands of sessions would take seconds
	}
	since, begun := live.Moment(undone[0].Info.Head().ID), int64(0)
	for _, m := range undone {
		if a, ok := m.Info.(*sdk.AssistantMessage); ok {
			begun = a.Time.Created
			break
		}
	}
	all, err := f.Sessions.Sessions(ctx, store.Query{ProjectID: f.Project.ID, Children: true, Archived: true, Limit: store.MaxSubagents})
	if _, err = store.Readable(err); err != nil {
		return err
	}
	for _, s := range all {
		if own[s.ID] || s.Time.Updated < begun {
			continue
		}
		changes, err := f.recorded(ctx, &s, since)
		if err != nil {
			return err
		}
		for _, c := range changes {
			same := func(l snapshot.Change) bool { return l.Before.Same(c.Before) || l.After.Same(c.After) }
			if n := net[c.Path]; n != nil && slices.ContainsFunc(n.loose, same) {
				n.between = true
			}
		}
	}
	return nil
}

// recorded returns the changes that a session recorded in this working tree since a moment, and did not undo.
func (f *Files) recorded(ctx context.Context, s *sdk.Session, since string) ([]snapshot.Change, error) {
	list, err := f.Sessions.Messages(ctx, s.ID, store.Page{})
	if _, err = store.Readable(err); err != nil && !errors.Is(err, store.ErrNotFound) { // it may be deleted meanwhile
		return nil, err
	}
	list = slices.DeleteFunc(live.WithoutUndone(list, s.Revert), func(m sdk.MessageWithParts) bool {
		a, ok := m.Info.(*sdk.AssistantMessage)
		return !ok || a.Time.Created < s.Time.Created || a.Path.Root != f.Project.Worktree // older ones are copies in a fork
	})
	var out []snapshot.Change
	for p := range store.PartsOf[*sdk.PatchPart](list...) {
		if live.Moment(p.ID) >= since {
			changes, _ := changesOf(p) // an invalid part is like a damaged row
			out = append(out, changes...)
		}
	}
	return out, nil
}

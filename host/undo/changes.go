package undo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/snapshot"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// netChange is the combined effect of a session on a file.
type netChange struct {
	Before, After snapshot.Entry
	between       bool // another program changed the file in between, or another session during a command
	seen          []snapshot.Entry
	loose         []snapshot.Change // changes while a command ran, which another session may have made
}

// netChanges returns the combined changes that messages of a session made to files, including the changes of their subagents. Unchanged files
// are left out. own receives the session and its subagents.
func (f *Files) netChanges(ctx context.Context, session string, list []sdk.MessageWithParts, own map[string]bool) (map[snapshot.Path]*netChange, error) {
	if len(list) == 0 {
		return nil, nil
	}
	own[session] = true
	patches := slices.Collect(store.PartsOf[*sdk.PatchPart](list...))
	more, err := store.SubagentPatches(ctx, f.Sessions, session)
	if err != nil {
		return nil, err
	}
	for _, p := range more {
		own[p.SessionID] = true
		if live.CauseOf(list, p) >= 0 {
			patches = append(patches, p)
		}
	}
	// Identifiers of parts sort by time.
	slices.SortFunc(patches, func(a, b *sdk.PatchPart) int { return strings.Compare(a.ID, b.ID) })
	out := map[snapshot.Path]*netChange{}
	for _, p := range patches {
		changes, err := changesOf(p)
		if err == nil {
			err = f.isHere(p, changes)
		}
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			if out[c.Path] == nil {
				out[c.Path] = &netChange{Before: c.Before}
			}
			out[c.Path].take(c)
			if p.Hash != "" {
				out[c.Path].loose = append(out[c.Path].loose, c)
			}
		}
	}
	maps.DeleteFunc(out, func(_ snapshot.Path, n *netChange) bool { return n.Before.Same(n.After) && !n.between })
	return out, nil
}

// isHere refuses changes of another project: a session may have continued in another project, where the same names
// mean other files.
func (f *Files) isHere(p *sdk.PatchPart, changes []snapshot.Change) error {
	repo, err := f.open()
	if err != nil {
		return err
	}
	for i, c := range changes {
		if i < len(p.Files) && p.Files[i] != repo.Name(c.Path) {
			return fmt.Errorf("%w: %s", ErrElsewhere, p.Files[i])
		}
	}
	return nil
}

// take adds a later change. If it starts from a state that no earlier change left, another program changed the file before it.
func (n *netChange) take(c snapshot.Change) {
	if len(n.seen) > 0 && !slices.ContainsFunc(n.seen, c.Before.Same) {
		n.between = true
	}
	n.seen = append(n.seen, c.Before, c.After)
	n.After = c.After
}

// FileChange is the change that a session made to one file.
type FileChange struct {
	Path string `json:"path"` // relative to the project
	// Status is added, deleted or modified.
	Status string `json:"status"`
	// Before and After are the contents, or the targets of symbolic links; empty without a file.
	Before []byte `json:"-"`
	After  []byte `json:"-"`
	// Shared reports that another program, or the user, changed the file in between.
	Shared bool `json:"shared,omitempty"`
}

// Changes returns the changes that a session and its subagents made to files, sorted by path. Reverted changes are left out. Errors:
// ErrNotFound, snapshot.ErrOff, snapshot.ErrGone.
func (f *Files) Changes(ctx context.Context, s *sdk.Session) ([]FileChange, error) {
	list, err := f.Sessions.Messages(ctx, s.ID, store.Page{})
	if err != nil {
		return nil, err
	}
	net, err := f.netChanges(ctx, s.ID, live.WithoutUndone(list, s.Revert), map[string]bool{})
	if err != nil || len(net) == 0 {
		return nil, err
	}
	repo, err := f.open()
	if err != nil {
		return nil, err
	}
	var hashes []string
	for _, n := range net {
		hashes = append(hashes, n.Before.Hash, n.After.Hash)
	}
	contents, err := repo.Contents(ctx, hashes)
	if err != nil {
		return nil, err
	}
	var out []FileChange
	for _, path := range slices.Sorted(maps.Keys(net)) {
		n := net[path]
		c := FileChange{Path: path.String(), Status: "modified", Before: contents[n.Before.Hash], After: contents[n.After.Hash], Shared: n.between}
		switch {
		case !n.Before.Exists():
			c.Status = "added"
		case !n.After.Exists():
			c.Status = "deleted"
		}
		out = append(out, c)
	}
	return out, nil
}

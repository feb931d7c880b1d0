package undo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/snapshot"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// ErrElsewhere is returned if the session changed files of another working tree than the host's.
var ErrElsewhere = errors.New("the session changed files of another directory")

// ConflictError lists files that were modified after the session wrote them, or also by another session. Nothing was changed.
type ConflictError struct {
	Files []string // sorted, relative to the project
}

// Error lists the files.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("these files were also changed by another session, by another program, by you or by a command that is not recorded: %s", strings.Join(e.Files, ", "))
}

// Options select the messages to undo.
type Options struct {
	SessionID string
	// MessageID is the first message to undo; by default the last prompt that is not undone yet.
	MessageID string
	// Redo restores the first undone prompt instead; later ones stay undone.
	Redo bool
	// Force reverts files that another program changed since; Unrevert restores their content. If a directory with files of another
	// program is in the way of a restored file, the error is snapshot.ErrChanged anyway.
	Force bool
}

// Reverted is the result of a revert or its reversal.
type Reverted struct {
	SessionID string   `json:"sessionID"`
	MessageID string   `json:"messageID,omitempty"` // the first undone message; empty if none is undone
	Messages  int      `json:"messages"`            // number of messages that were not undone before; 0 after redo
	Files     []string `json:"files"`               // changed files, relative to the project, sorted
	// Off is why changes that commands made are not recorded in this project, and so not undone; empty if they are.
	Off string `json:"off,omitempty"`
}

// Revert undoes the changes since a message; see host.Revert.
func (k *Session) Revert(ctx context.Context, o Options) (*Reverted, error) {
	if err := k.finishOwn(ctx); err != nil {
		return nil, err
	}
	list, readErr := k.Files.Sessions.Messages(ctx, k.Conversation.ID(), store.Page{})
	damaged, err := store.Readable(readErr)
	if err != nil {
		return nil, err
	}
	end := len(live.WithoutUndone(list, k.Conversation.SessionCopy().Revert))
	from, err := revertPoint(list, &o, end)
	if err != nil {
		return nil, err
	}
	if from == len(list) {
		return k.Unrevert(ctx, o.Force)
	}
	if damagedSince(list[:from], damaged) {
		return nil, fmt.Errorf("not all changed files are known: %w", readErr)
	}
	own := map[string]bool{}
	net, err := k.Files.netChanges(ctx, k.Conversation.ID(), list[from:], own)
	if err == nil && len(net) > 0 && !o.Force {
		err = k.Files.markShared(ctx, own, list[from:], net)
	}
	if err != nil {
		return nil, err
	}
	out := &Reverted{SessionID: k.Conversation.ID(), MessageID: list[from].Info.Head().ID, Messages: max(0, end-from)}
	repo, off := k.Files.open()
	if off == nil {
		off = repo.Off()
	}
	if off != nil {
		out.Off = off.Error()
	}
	return k.change(ctx, net, out, o.Force)
}

// Unrevert restores what Revert undid; see host.Unrevert.
func (k *Session) Unrevert(ctx context.Context, force bool) (*Reverted, error) {
	if err := k.finishOwn(ctx); err != nil {
		return nil, err
	}
	if k.Conversation.SessionCopy().Revert == nil {
		return nil, fmt.Errorf("%w: session %s has no undone prompt", live.ErrNothing, k.Conversation.ID())
	}
	return k.change(ctx, nil, &Reverted{SessionID: k.Conversation.ID()}, force)
}

// change undoes the net changes, restores other files that are undone now, and completes the result.
func (k *Session) change(ctx context.Context, net map[snapshot.Path]*netChange, out *Reverted, force bool) (*Reverted, error) {
	p, err := k.plan(ctx, net, force)
	if err != nil {
		return nil, err
	}
	if len(p.conflicts) > 0 {
		return nil, &ConflictError{Files: p.conflicts}
	}
	var mark *sdk.Revert
	if out.MessageID != "" {
		mark = &sdk.Revert{MessageID: out.MessageID}
	}
	if mark != nil && len(p.touched) > 0 {
		data, err := json.Marshal(p.touched)
		if err != nil {
			return nil, err
		}
		if mark.Snapshot, err = p.repo.Keep(data); err != nil {
			return nil, err
		}
	}
	out.Files = []string{}
	for _, s := range p.steps {
		out.Files = append(out.Files, s.Path.String())
	}
	return out, k.restore(ctx, p, mark)
}

// plan plans to undo the net changes, and to restore other files that are undone now.
func (k *Session) plan(ctx context.Context, net map[snapshot.Path]*netChange, force bool) (*restoring, error) {
	done, err := k.undone(ctx)
	if err != nil {
		return nil, err
	}
	all := map[snapshot.Path]*netChange{}
	for path, d := range done {
		all[path] = &netChange{Before: d.From}
	}
	maps.Copy(all, net)
	repo, err := k.Files.open()
	if err != nil && len(all) > 0 {
		return nil, err
	}
	p := &restoring{repo: repo, force: force}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		n := all[path]
		expected, original, between := n.After, n.After, n.between
		if d, ok := done[path]; ok {
			expected, original, between = d.To, d.From, false // the earlier revert checked it
		}
		if err := p.add(path, expected, n.Before, original, between); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// revertPoint returns the index of the first message to undo, or the length of the list to redo everything. The messages from end on are undone.
func revertPoint(list []sdk.MessageWithParts, o *Options, end int) (int, error) {
	if o.MessageID != "" {
		if i := live.IndexOf(list, o.MessageID); i >= 0 {
			return i, nil
		}
		return 0, fmt.Errorf("message %q: %w", o.MessageID, live.ErrNotFound)
	}
	if o.Redo {
		for i := end + 1; i < len(list); i++ {
			if live.ByUser(&list[i]) {
				return i, nil
			}
		}
		return len(list), nil
	}
	for i := end - 1; i >= 0; i-- {
		if live.ByUser(&list[i]) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%w: no prompt to undo", live.ErrNothing)
}

// damagedSince reports whether damaged rows belong to other messages than the given ones.
func damagedSince(before []sdk.MessageWithParts, damaged []store.Damage) bool {
	return slices.ContainsFunc(damaged, func(d store.Damage) bool {
		return d.Type != store.DamagedMessage && live.IndexOf(before, d.Message) < 0 || d.Type == store.DamagedMessage && live.IndexOf(before, d.ID) < 0
	})
}

// undone returns the steps that an earlier revert took.
func (k *Session) undone(ctx context.Context) (map[snapshot.Path]snapshot.Step, error) {
	r := k.Conversation.SessionCopy().Revert
	if r == nil || r.Snapshot == "" {
		return nil, nil
	}
	repo, err := k.Files.open()
	if err != nil {
		return nil, err
	}
	var steps []snapshot.Step
	contents, err := repo.Contents(ctx, []string{r.Snapshot})
	if err == nil {
		err = json.Unmarshal(contents[r.Snapshot], &steps)
	}
	if err != nil {
		return nil, fmt.Errorf("undone state of %s: %w", r.MessageID, err)
	}
	out := map[snapshot.Path]snapshot.Step{}
	for _, s := range steps {
		out[s.Path] = s
	}
	return out, nil
}

// restoring collects the steps of a revert, sorted by path.
type restoring struct {
	repo  *snapshot.Repo // nil if snapshots are off and there is nothing to restore
	force bool

	steps     []snapshot.Step
	conflicts []string
	touched   []snapshot.Step // for a later Unrevert: from the original to the target
}

// add plans the step of a file to target. expected is its state if no other program changed it, original its state before any revert.
func (p *restoring) add(path snapshot.Path, expected, target, original snapshot.Entry, between bool) error {
	behind := p.behindLink(path)
	var is snapshot.Entry // stays empty behind a symbolic link: that is another file
	var err error
	if !behind {
		is, err = p.repo.Look(path)
	}
	// If the revert does not change the permissions, the user's current permissions stay.
	if expected.SamePermissions(target) && original.WithPermissionsOf(expected) == original {
		expected, target, original = expected.WithPermissionsOf(is), target.WithPermissionsOf(is), original.WithPermissionsOf(is)
	}
	if err == nil && is.Directory() && !expected.Exists() {
		is = expected // a directory is in place of the file; if the file comes back, the steps for the files in the directory empty it first
	}
	if err == nil && !is.Same(expected) && !behind { // the expected content is already stored
		is, err = p.repo.Record(path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !is.Same(expected) || between {
		if !is.Same(target) && !p.force {
			p.conflicts = append(p.conflicts, path.String())
		}
		if !is.Same(expected) {
			original = is // content of another program; Unrevert restores it
		}
	}
	if !target.Same(original) {
		p.touched = append(p.touched, snapshot.Step{Path: path, From: original, To: target})
	}
	if !is.Same(target) {
		p.steps = append(p.steps, snapshot.Step{Path: path, From: is, To: target})
	}
	return nil
}

// behindLink reports whether a directory above a file is a symbolic link now.
func (p *restoring) behindLink(path snapshot.Path) bool {
	for i := strings.LastIndexByte(string(path), '/'); i > 0; i = strings.LastIndexByte(string(path), '/') {
		path = path[:i]
		if info, err := os.Lstat(p.repo.Abs(path)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// note is the part of a pending change that concerns the session.
type note struct {
	Revert *sdk.Revert `json:"revert"`
}

// restore changes the files and the session, both or neither.
func (k *Session) restore(ctx context.Context, p *restoring, mark *sdk.Revert) error {
	if len(p.steps) == 0 {
		k.setRevert(mark)
		return k.Conversation.Journal.Flush(ctx)
	}
	data, err := json.Marshal(note{mark})
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // from here on, all or nothing
	if err := p.repo.Begin(&snapshot.Pending{ID: k.Conversation.ID(), Steps: p.steps, Note: data}); err != nil {
		return err
	}
	if err := p.repo.Run(ctx, p.steps); err != nil {
		return errors.Join(err, p.repo.End(k.Conversation.ID()))
	}
	k.setRevert(mark)
	if err := k.Conversation.Journal.Flush(ctx); err != nil {
		return err // the next host completes it
	}
	return p.repo.End(k.Conversation.ID())
}

func (k *Session) setRevert(mark *sdk.Revert) {
	k.Conversation.UpdateSession(func(s *sdk.Session) { s.Revert = mark })
}

// Drop removes the undone messages, before a new prompt takes their place. It returns the damaged rows that the conversation lacks.
func (k *Session) Drop(ctx context.Context) ([]store.Damage, error) {
	if err := k.finishOwn(ctx); err != nil {
		return nil, err
	}
	mark := k.Conversation.SessionCopy().Revert
	if mark == nil {
		return nil, nil
	}
	if err := k.Conversation.Journal.Flush(ctx); err != nil {
		return nil, err
	}
	list, err := k.Files.Sessions.Messages(ctx, k.Conversation.ID(), store.Page{From: mark.MessageID})
	damaged, err := store.Readable(err)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	var ids []string
	for _, d := range damaged {
		if d.Type == store.DamagedMessage {
			ids = append(ids, d.ID)
		}
	}
	for _, m := range list {
		if id := m.Info.Head().ID; !slices.Contains(ids, id) { // a damaged message may be in both lists
			ids = append(ids, id)
		}
	}
	return k.Conversation.RemoveMessages(ctx, ids, func(s *sdk.Session) { s.Revert = nil })
}

// FinishReverts completes reverts that an earlier process did not finish.
func (f *Files) FinishReverts(ctx context.Context) {
	repo, err := f.open()
	if err != nil {
		return
	}
	pending, err := repo.Pending()
	if err != nil {
		f.Log.Error("interrupted revert cannot be read", "err", err)
	}
	for _, j := range pending {
		if err := f.finishRevert(ctx, repo, j); err != nil && !errors.As(err, new(*store.OwnedError)) && !errors.Is(err, store.ErrReadOnly) {
			f.Log.Error("interrupted revert cannot be completed", "session", j.ID, "err", err)
		}
	}
}

func (f *Files) finishRevert(ctx context.Context, repo *snapshot.Repo, j *snapshot.Pending) error {
	token, err := f.Sessions.Claim(ctx, j.ID)
	if errors.Is(err, store.ErrNotFound) {
		return repo.End(j.ID) // the session was deleted; its files stay unchanged
	}
	if err != nil {
		return err
	}
	err = f.complete(ctx, repo, j, func(mark *sdk.Revert) error {
		s, _, err := f.Sessions.Session(ctx, j.ID)
		if err != nil {
			return err
		}
		s.Revert = mark
		_, err = f.Sessions.Append(ctx, token, []store.Op{store.PutSession{Session: s}})
		return err
	})
	return errors.Join(err, f.Sessions.Release(ctx, token))
}

// finishOwn completes a revert of this session that another process began and did not finish since this host started.
func (k *Session) finishOwn(ctx context.Context) error {
	repo, err := k.Files.open()
	if err != nil {
		return nil // snapshots are off, so no revert is pending
	}
	j, err := repo.PendingOf(k.Conversation.ID())
	if err != nil || j == nil {
		return err
	}
	return k.Files.complete(ctx, repo, j, func(mark *sdk.Revert) error {
		k.setRevert(mark)
		return k.Conversation.Journal.Flush(ctx)
	})
}

// complete finishes an interrupted revert: it restores the files, except those that were modified meanwhile, and then updates the session
// with setRevert.
func (f *Files) complete(ctx context.Context, repo *snapshot.Repo, j *snapshot.Pending, setRevert func(mark *sdk.Revert) error) error {
	var n note
	if err := json.Unmarshal(j.Note, &n); err != nil {
		return fmt.Errorf("interrupted revert of session %s: %w", j.ID, err)
	}
	left, err := repo.Resume(ctx, j.Steps)
	if err != nil {
		return err
	}
	for _, p := range left {
		f.Log.Warn("interrupted revert: a file has been modified since then and is left unchanged", "session", j.ID, "file", p.String())
	}
	if err := setRevert(n.Revert); err != nil {
		return err
	}
	return repo.End(j.ID)
}

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/snapshot"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

var (
	// ErrBusy means that the session runs a turn.
	ErrBusy = errors.New("session is busy")
	// ErrNothing means that there is nothing to undo, nothing was undone, or no summary to take out.
	ErrNothing = errors.New("nothing to do")
	// ErrElsewhere means that the session changed files of another project than the host's.
	ErrElsewhere = errors.New("the session changed files of another project")
)

// ConflictError says which files are not as the session left them, so that nothing was changed.
type ConflictError struct {
	Files []string // sorted, relative to the project
	// Forced means that force was set: the files stand in directories that would have to go for files to come back.
	Forced bool
}

// Error lists the files.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("changed by somebody else since the session wrote them: %s", strings.Join(e.Files, ", "))
}

// RevertOptions say what to undo.
type RevertOptions struct {
	SessionID string
	// MessageID is the first message to undo. Empty: the last prompt that is not undone yet.
	MessageID string
	// Force takes files back that somebody else changed since. Unrevert brings their content back. A directory with files of somebody
	// else stays, and is a *ConflictError, where a file would have to take its place.
	Force bool
}

// Reverted says what was undone, or brought back.
type Reverted struct {
	SessionID string   `json:"sessionID"`
	MessageID string   `json:"messageID,omitempty"` // the first message that is undone; empty when none is
	Messages  int      `json:"messages"`            // that are undone
	Files     []string `json:"files"`               // that were changed, relative to the project, sorted
}

// Revert takes a session back to before a message: what it and its subagents did to files since is undone, and the messages count
// no more. They are dropped with the next prompt; until then Unrevert brings everything back. All is done or nothing, also when the
// process dies meanwhile: then the next host of the project finishes it.
//
// Errors: ErrNotFound, ErrNothing, ErrBusy, ErrElsewhere, *ConflictError, snapshot.ErrOff, snapshot.ErrGone, *store.OwnedError.
func (h *Host) Revert(ctx context.Context, o RevertOptions) (*Reverted, error) {
	var out *Reverted
	err := h.between(ctx, o.SessionID, func(ctx context.Context, t *turn) (err error) {
		out, err = t.revert(ctx, o)
		return err
	})
	return out, err
}

// Unrevert brings back what Revert undid. Files that somebody changed since are a *ConflictError unless force is set. Errors: as
// Revert.
func (h *Host) Unrevert(ctx context.Context, session string, force bool) (*Reverted, error) {
	var out *Reverted
	err := h.between(ctx, session, func(ctx context.Context, t *turn) (err error) {
		out, err = t.unrevert(ctx, force)
		return err
	})
	return out, err
}

// between runs f on a session that runs no turn, which none begins to do meanwhile. One that does is busy: its turn may take long.
func (h *Host) between(ctx context.Context, session string, f func(context.Context, *turn) error) error {
	h.mu.Lock()
	r := h.runners[session]
	h.mu.Unlock()
	if r != nil && r.inTurn() {
		return fmt.Errorf("session %s: %w", session, ErrBusy)
	}
	_, err := h.Prompt(ctx, PromptInput{SessionID: session, between: f})
	return err
}

// inTurn reports whether a turn runs.
func (r *runner) inTurn() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cancel != nil
}

func (t *turn) revert(ctx context.Context, o RevertOptions) (*Reverted, error) {
	if err := t.finishOwn(ctx); err != nil {
		return nil, err
	}
	list, readErr := t.h.opts.Store.Messages(ctx, t.r.session, store.Page{})
	damaged, err := store.Readable(readErr)
	if err != nil {
		return nil, err
	}
	old := t.c.SessionCopy().Revert
	from, err := revertPoint(list, o.MessageID, old)
	if err != nil {
		return nil, err
	}
	if damagedSince(list[:from], damaged) {
		return nil, fmt.Errorf("the files that were changed are not all known: %w", readErr)
	}
	done, err := t.undone(ctx, old)
	if err != nil {
		return nil, err
	}
	net, err := t.h.netChanges(ctx, t.r.session, list[from:])
	if err != nil {
		return nil, err
	}
	p := &restoring{host: t.h, force: o.Force, touched: map[snapshot.Path]snapshot.Step{}}
	for path, n := range net {
		expected, original := n.After, n.After
		if d, ok := done[path]; ok {
			expected, original = d.To, d.From
			n.between = false // which was looked at then
		}
		if err := p.add(ctx, path, expected, n.Before, original, n.between); err != nil {
			return nil, err
		}
	}
	for path, d := range done {
		if _, also := net[path]; also {
			continue
		}
		if err := p.add(ctx, path, d.To, d.From, d.From, false); err != nil {
			return nil, err
		}
	}
	if err := p.makeRoom(); err != nil {
		return nil, err
	}
	out := &Reverted{SessionID: t.r.session, MessageID: list[from].Info.Head().ID, Messages: len(list) - from}
	mark := &sdk.Revert{MessageID: out.MessageID}
	if mark.Snapshot, err = p.record(ctx); err != nil {
		return nil, err
	}
	out.Files, err = t.restore(ctx, p, mark)
	return out, err
}

func (t *turn) unrevert(ctx context.Context, force bool) (*Reverted, error) {
	if err := t.finishOwn(ctx); err != nil {
		return nil, err
	}
	old := t.c.SessionCopy().Revert
	if old == nil {
		return nil, fmt.Errorf("nothing of session %s is undone: %w", t.r.session, ErrNothing)
	}
	done, err := t.undone(ctx, old)
	if err != nil {
		return nil, err
	}
	p := &restoring{host: t.h, force: force, touched: map[snapshot.Path]snapshot.Step{}}
	for path, d := range done {
		if err := p.add(ctx, path, d.To, d.From, d.From, false); err != nil {
			return nil, err
		}
	}
	if err := p.makeRoom(); err != nil {
		return nil, err
	}
	out := &Reverted{SessionID: t.r.session}
	out.Files, err = t.restore(ctx, p, nil)
	return out, err
}

// revertPoint returns the index of the first message to undo.
func revertPoint(list []sdk.MessageWithParts, id string, old *sdk.Revert) (int, error) {
	if id != "" {
		if i := live.IndexOf(list, id); i >= 0 {
			return i, nil
		}
		return 0, fmt.Errorf("message %q: %w", id, ErrNotFound)
	}
	end := len(list)
	if old != nil {
		if i := live.IndexOf(list, old.MessageID); i >= 0 {
			end = i
		}
	}
	for i := end - 1; i >= 0; i-- {
		if list[i].Info.Role() == sdk.RoleUser && isPrompt(list[i].Parts) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("there is no prompt to undo: %w", ErrNothing)
}

// damagedSince reports whether rows are damaged that do not belong to the messages before.
func damagedSince(before []sdk.MessageWithParts, damaged []store.Damage) bool {
	return slices.ContainsFunc(damaged, func(d store.Damage) bool {
		return d.Type != store.DamagedMessage && live.IndexOf(before, d.Message) < 0 || d.Type == store.DamagedMessage && live.IndexOf(before, d.ID) < 0
	})
}

// isPrompt reports whether a user wrote the message.
func isPrompt(parts sdk.Parts) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *sdk.CompactionPart:
			return false
		case *sdk.TextPart:
			if !p.Synthetic {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// undone returns what an earlier revert did to files: from what they were to what they became.
func (t *turn) undone(ctx context.Context, r *sdk.Revert) (map[snapshot.Path]snapshot.Step, error) {
	out := map[snapshot.Path]snapshot.Step{}
	if r == nil || r.Snapshot == "" {
		return out, nil
	}
	repo, err := t.h.files()
	if err != nil {
		return nil, err
	}
	contents, err := repo.Contents(ctx, []string{r.Snapshot})
	if err != nil {
		return nil, fmt.Errorf("what was undone at %s: %w", r.MessageID, err)
	}
	var steps []snapshot.Step
	if err := json.Unmarshal(contents[r.Snapshot], &steps); err != nil {
		return nil, fmt.Errorf("what was undone at %s: %w", r.MessageID, err)
	}
	for _, s := range steps {
		out[s.Path] = s
	}
	return out, nil
}

// restoring collects what is to become of files.
type restoring struct {
	host  *Host
	force bool

	steps     []snapshot.Step
	conflicts []string
	blocked   []blocked
	touched   map[snapshot.Path]snapshot.Step // what a later Unrevert has to know: from the original to the target
}

// add plans that a file goes to target. It should be as expected; original is what it was before anything was undone.
func (p *restoring) add(ctx context.Context, path snapshot.Path, expected, target, original snapshot.Entry, between bool) error {
	repo, err := p.host.files()
	if err != nil {
		return err
	}
	behind := p.behindLink(path)
	var is snapshot.Entry // behind a symbolic link there is another file, not this one
	if !behind {
		is, err = repo.Look(path)
	}
	// Permissions that neither this nor an earlier revert changes are the user's.
	if expected.SamePermissions(target) && original.WithPermissionsOf(expected) == original {
		expected, target, original = expected.WithPermissionsOf(is), target.WithPermissionsOf(is), original.WithPermissionsOf(is)
	}
	if err == nil && is.Directory() && !expected.Exists() && target.Exists() && !target.Directory() {
		p.blocked = append(p.blocked, blocked{snapshot.Step{Path: path, From: expected, To: target}, original, between})
		return nil
	}
	if err == nil && !is.Same(expected) && !behind { // what is as expected is stored
		is, err = repo.Record(ctx, path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !is.Same(expected) || between {
		if !is.Same(target) && !p.force {
			p.conflicts = append(p.conflicts, path.String())
		}
		if !is.Same(expected) {
			original = is // somebody's, to be brought back as it is
		}
	}
	if !target.Same(original) {
		p.touched[path] = snapshot.Step{Path: path, From: original, To: target}
	}
	if !is.Same(target) {
		p.steps = append(p.steps, snapshot.Step{Path: path, From: is, To: target})
	}
	return nil
}

// record keeps what a later Unrevert has to know and returns its name; empty when no file is touched.
func (p *restoring) record(ctx context.Context) (string, error) {
	if len(p.touched) == 0 {
		return "", nil
	}
	repo, err := p.host.files()
	if err != nil {
		return "", err
	}
	var steps []snapshot.Step
	for _, path := range slices.Sorted(maps.Keys(p.touched)) {
		steps = append(steps, p.touched[path])
	}
	data, err := json.Marshal(steps)
	if err != nil {
		return "", err
	}
	return repo.Keep(ctx, data)
}

// note is what the journal of a revert knows beside the files.
type note struct {
	Revert *sdk.Revert `json:"revert"`
}

// restore changes the files and the session, both or none, and returns the names of the files.
func (t *turn) restore(ctx context.Context, p *restoring, mark *sdk.Revert) ([]string, error) {
	if len(p.conflicts) > 0 {
		slices.Sort(p.conflicts)
		return nil, &ConflictError{Files: p.conflicts, Forced: p.force}
	}
	files := []string{}
	for _, s := range p.steps {
		files = append(files, s.Path.String())
	}
	slices.Sort(files)
	if len(p.steps) == 0 {
		t.setRevert(mark)
		return files, t.c.Journal.Flush(ctx)
	}
	repo, err := t.h.files()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(note{mark})
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // from here on it is done or undone
	if err := repo.Begin(&snapshot.Journal{ID: t.r.session, Steps: p.steps, Note: data}); err != nil {
		return nil, err
	}
	if err := repo.Run(ctx, p.steps); err != nil {
		return nil, errors.Join(err, repo.End(t.r.session))
	}
	t.setRevert(mark)
	if err := t.c.Journal.Flush(ctx); err != nil {
		return nil, err // the next host finishes it
	}
	return files, repo.End(t.r.session)
}

func (t *turn) setRevert(mark *sdk.Revert) {
	t.c.UpdateSession(func(s *sdk.Session) { s.Revert = mark })
}

// dropReverted removes the messages that were undone: what comes now takes their place.
func (t *turn) dropReverted(ctx context.Context) error {
	if err := t.finishOwn(ctx); err != nil {
		return err
	}
	mark := t.c.SessionCopy().Revert
	if mark == nil {
		return nil
	}
	if err := t.c.Journal.Flush(ctx); err != nil {
		return err
	}
	list, err := t.h.opts.Store.Messages(ctx, t.r.session, store.Page{From: mark.MessageID})
	damaged, err := store.Readable(err)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	var ids []string
	for _, d := range damaged {
		if d.Type == store.DamagedMessage {
			ids = append(ids, d.ID)
		}
	}
	for _, m := range list {
		if id := m.Info.Head().ID; !slices.Contains(ids, id) { // which a damaged message may be in, too
			ids = append(ids, id)
		}
	}
	damaged, err = t.c.RemoveMessages(ctx, ids, func(s *sdk.Session) { s.Revert = nil })
	t.h.leftOut(damaged)
	return err
}

// finishReverts brings reverts to their end that a process which is gone had begun.
func (h *Host) finishReverts(ctx context.Context) {
	repo, err := h.files()
	if err != nil {
		return
	}
	pending, err := repo.Pending()
	if err != nil {
		h.log.Error("a revert that was cut off cannot be read", "err", err)
	}
	for _, j := range pending {
		var owned *store.OwnedError
		if err := h.finishRevert(ctx, repo, j); err != nil && !errors.As(err, &owned) && !errors.Is(err, store.ErrReadOnly) {
			h.log.Error("a revert that was cut off cannot be finished", "session", j.ID, "err", err)
		}
	}
}

func (h *Host) finishRevert(ctx context.Context, repo *snapshot.Repo, j *snapshot.Journal) error {
	var n note
	if err := json.Unmarshal(j.Note, &n); err != nil {
		return err
	}
	token, err := h.opts.Store.Claim(ctx, j.ID)
	if errors.Is(err, store.ErrNotFound) {
		return repo.End(j.ID) // the session was deleted; its files stay as they are
	}
	if err != nil {
		return err
	}
	err = h.finishClaimed(ctx, repo, j, token, n.Revert)
	return errors.Join(err, h.opts.Store.Release(ctx, token))
}

func (h *Host) finishClaimed(ctx context.Context, repo *snapshot.Repo, j *snapshot.Journal, token store.Token, mark *sdk.Revert) error {
	if err := h.resume(ctx, repo, j); err != nil {
		return err
	}
	s, _, err := h.opts.Store.Session(ctx, j.ID)
	if err != nil {
		return err
	}
	s.Revert = mark
	if _, err := h.opts.Store.Append(ctx, token, []store.Op{store.PutSession{Session: s}}); err != nil {
		return err
	}
	return repo.End(j.ID)
}

// resume takes the files of a revert that was cut off to where they should be, but for those that were changed meanwhile.
func (h *Host) resume(ctx context.Context, repo *snapshot.Repo, j *snapshot.Journal) error {
	left, err := repo.Resume(ctx, j.Steps)
	for _, p := range left {
		h.log.Warn("a revert that was cut off leaves a file that was changed meanwhile", "session", j.ID, "file", p.String())
	}
	return err
}

// finishOwn brings a revert of this session to its end that a process which died since this host started had begun.
func (t *turn) finishOwn(ctx context.Context) error {
	repo, err := t.h.files()
	if err != nil {
		return nil // then there are none
	}
	j, err := repo.PendingOf(t.r.session)
	if err != nil || j == nil {
		return err
	}
	var n note
	if err := json.Unmarshal(j.Note, &n); err != nil {
		return fmt.Errorf("a revert of session %s that was cut off: %w", j.ID, err)
	}
	if err := t.h.resume(ctx, repo, j); err != nil {
		return err
	}
	t.setRevert(n.Revert)
	if err := t.c.Journal.Flush(ctx); err != nil {
		return err
	}
	return repo.End(j.ID)
}

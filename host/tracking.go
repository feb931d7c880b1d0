package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/snapshot"
	"github.com/tenonhq/tenon/sdk"
)

// Permission keys of built-in tools that write files. Other built-in tools change none; what other plugins' tools do is not known.
const (
	permissionEdit = "edit" // the files it names when it asks
	permissionBash = "bash" // any
)

// patchChanges is the field of a patch part that says what each file was before and after.
const patchChanges = "changes"

// undo opens the store of file states when it is first needed.
type undo struct {
	once sync.Once
	repo *snapshot.Repo
	err  error
	told sync.Once // that something cannot be undone
}

// files returns the store of the project's file states. Errors: snapshot.ErrOff.
func (h *Host) files() (*snapshot.Repo, error) {
	h.undo.once.Do(func() {
		p := h.opts.Project
		switch {
		case !p.Git:
			h.undo.err = fmt.Errorf("%w: %s is not in a git repository", snapshot.ErrOff, p.Directory)
			return
		case p.DataDir == "":
			h.undo.err = fmt.Errorf("%w: there is no data directory", snapshot.ErrOff)
			return
		}
		dir := filepath.Join(p.DataDir, "snapshots")
		h.undo.repo, h.undo.err = snapshot.Open(snapshot.Options{Dir: dir, Worktree: p.Worktree, Home: p.Home, Exclude: []string{p.DataDir}})
	})
	return h.undo.repo, h.undo.err
}

// warn says once that something cannot be undone.
func (u *undo) warn(h *Host, message string, args ...any) {
	u.told.Do(func() { h.log.Warn(message, args...) })
}

// tracker notes what the tool calls of a session do to files. Calls that run at the same time share a window: what changes while it
// is open is theirs. Safe for use from many goroutines.
type tracker struct {
	h *Host
	r *runner
	c *live.Conversation

	mu      sync.Mutex
	running int // calls in the window
	window  window
	stored  chan struct{} // closed when what the last window changed is stored; nil: there was none
}

// window is the time in which calls write.
type window struct {
	message string                           // where its changes are noted
	tree    *snapshot.Tree                   // as all files were; nil unless a call may write any
	named   map[snapshot.Path]snapshot.Entry // as files were that calls said they would write
}

// writes reports whether a call may write files.
func (t *turn) writes(c *call) bool {
	if on := t.g.config.Snapshot; on != nil && !*on {
		return false
	}
	if c.template != "" {
		return false // the user's own doing, before the message that changes could be noted with
	}
	if _, err := t.h.files(); err != nil {
		return false
	}
	if c.tool.origin.Carrier != sdk.CarrierBuiltin {
		return true
	}
	switch c.tool.permission() {
	case permissionEdit, permissionBash:
		return true
	}
	return false
}

// permission returns the key of the tool's permission.
func (t *tool) permission() string {
	if p, ok := t.Tool.(sdk.ToolPermission); ok {
		return p.Permission()
	}
	return t.definition.ID
}

// willWrite returns the files that a built-in tool says it will write, when it asks for leave to.
func willWrite(one *tool, requests []sdk.PermissionRequest) []string {
	if one.origin.Carrier != sdk.CarrierBuiltin || one.permission() != permissionEdit {
		return nil
	}
	var out []string
	for _, r := range requests {
		if r.Permission != permissionEdit {
			continue
		}
		list := stringsOf(r.Metadata["files"])
		if file, ok := r.Metadata["filepath"].(string); ok && len(list) == 0 {
			list = []string{file}
		}
		out = append(out, list...)
	}
	return out
}

// watchFiles begins to note what a call does to files, while other things are done. The function it returns waits until it has
// begun, and returns one to call when the call is over.
func (t *turn) watchFiles(ctx context.Context, c *call) (begun func() (end func())) {
	if !t.writes(c) {
		return func() func() { return func() {} }
	}
	ends := make(chan func(), 1)
	go func() { ends <- t.k.begin(ctx, c) }() // ends with git, which is bounded; the caller waits
	return func() func() { return <-ends }
}

// begin notes how files are before a call writes; the function it returns is called when the call is over. Both wait for nothing
// but the states.
func (k *tracker) begin(ctx context.Context, c *call) (end func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	repo, err := k.h.files()
	if err != nil {
		return func() {}
	}
	if k.running == 0 {
		k.wait()
		k.window = window{message: c.part.MessageID, named: map[snapshot.Path]snapshot.Entry{}}
	}
	k.running++
	if len(c.paths) > 0 {
		err = k.name(ctx, repo, c.paths)
	} else if k.window.tree == nil {
		if k.window.tree, err = repo.Take(context.WithoutCancel(ctx)); err == nil {
			k.c.ReplacePart(k.window.message, startedWith(k.window.tree))
		}
	}
	k.complain(err)
	return k.end
}

// startedWith and endedWith write the name of a state into the part of a step that tells it: its start or its end, as opencode does. Steps
// that only read, or write nothing but files they named, have no state.
func startedWith(tree *snapshot.Tree) func(sdk.Part) sdk.Part {
	return func(p sdk.Part) sdk.Part {
		start, ok := p.(*sdk.StepStartPart)
		if !ok {
			return nil
		}
		marked := *start
		marked.Snapshot = tree.Hash
		return &marked
	}
}

func endedWith(tree *snapshot.Tree) func(sdk.Part) sdk.Part {
	return func(p sdk.Part) sdk.Part {
		end, ok := p.(*sdk.StepFinishPart)
		if !ok {
			return nil
		}
		marked := *end
		marked.Snapshot = tree.Hash
		return &marked
	}
}

// name notes how files are that a call will write.
func (k *tracker) name(ctx context.Context, repo *snapshot.Repo, files []string) error {
	var errs []error
	for _, file := range files {
		path, err := repo.PathOf(file)
		if _, known := k.window.named[path]; known || err != nil {
			errs = append(errs, err)
			continue
		}
		was, err := repo.Record(context.WithoutCancel(ctx), path)
		if err == nil {
			k.window.named[path] = was
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// complain says why changes cannot be undone. The call runs all the same.
func (k *tracker) complain(err error) {
	if err != nil {
		k.h.undo.warn(k.h, "what is changed now cannot be undone", "session", k.r.session, "err", err)
	}
}

// end is called when a call is over. After the last one of a window its changes are stored, beside the turn.
func (k *tracker) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running--; k.running > 0 {
		return
	}
	w, stored := k.window, make(chan struct{})
	k.stored = stored
	k.r.goBeside(func() { // ends with git, which is bounded; the runner waits before it gives the session up
		defer close(stored)
		k.complain(k.store(context.WithoutCancel(k.h.ctx), &w))
	})
}

// wait returns when the changes of the last window are stored.
func (k *tracker) wait() {
	if k.stored != nil {
		<-k.stored
	}
}

// settle waits until all changes of calls that are over are stored.
func (k *tracker) settle() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wait()
}

// store notes what changed in a window.
func (k *tracker) store(ctx context.Context, w *window) error {
	repo, err := k.h.files()
	if err != nil {
		return err
	}
	changes, after, err := w.changes(ctx, repo)
	if err != nil {
		return err
	}
	if after != nil {
		if len(after.LeftOut) > 0 {
			k.h.undo.warn(k.h, "some files are too large, too many or not readable for snapshots: what commands change in them cannot be undone",
				"files", len(after.LeftOut), "first", after.LeftOut[0].String())
		}
		k.c.ReplacePart(w.message, endedWith(after))
	}
	if len(changes) > 0 {
		p, err := k.patch(repo, w, changes)
		if err != nil {
			return err
		}
		k.c.AddPart(p)
	}
	_, err = repo.Collect(ctx)
	return err
}

// changes returns what became of the files, and the state after the window if there is one before it.
func (w *window) changes(ctx context.Context, repo *snapshot.Repo) (out []snapshot.Change, after *snapshot.Tree, err error) {
	if w.tree != nil {
		if after, err = repo.Take(ctx); err != nil {
			return nil, nil, err
		}
		out = repo.Changes(w.tree, after)
	}
	out = slices.DeleteFunc(out, func(c snapshot.Change) bool { _, named := w.named[c.Path]; return named })
	for path, was := range w.named {
		is, err := repo.Record(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		if !is.Same(was) {
			out = append(out, snapshot.Change{Path: path, Before: was, After: is})
		}
	}
	slices.SortFunc(out, func(a, b snapshot.Change) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return out, after, nil
}

// patch is the part that tells of changes.
func (k *tracker) patch(repo *snapshot.Repo, w *window, changes []snapshot.Change) (*sdk.PatchPart, error) {
	data, err := json.Marshal(changes)
	if err != nil {
		return nil, err
	}
	p := &sdk.PatchPart{
		PartHead: sdk.PartHead{ID: k.c.IDs.New(sdk.PrefixPart), SessionID: k.r.session, MessageID: w.message},
		Extra:    sdk.Extra{patchChanges: data},
	}
	if w.tree != nil {
		p.Hash = w.tree.Hash
	}
	for _, c := range changes {
		p.Files = append(p.Files, repo.Name(c.Path))
	}
	return p, nil
}

// changesOf returns what a patch part tells of. One that another program wrote tells nothing that could be undone.
func changesOf(p *sdk.PatchPart) ([]snapshot.Change, error) {
	data, ok := p.Extra[patchChanges]
	if !ok {
		return nil, nil
	}
	var out []snapshot.Change
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("patch %s: %w", p.ID, err)
	}
	return out, nil
}

package undo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/snapshot"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// patchChanges is the field of a patch part with the states of each file before and after.
const patchChanges = "changes"

// Files is the store of the project's file states, opened at its first use. Set Project, Sessions and Log.
type Files struct {
	Project  sdk.Project
	Sessions store.Store
	Log      *slog.Logger

	once   sync.Once
	repo   *snapshot.Repo
	err    error
	warned sync.Map // messages that were already logged
}

// open returns the store of the project's file states. Errors: snapshot.ErrOff.
func (f *Files) open() (*snapshot.Repo, error) {
	f.once.Do(func() {
		p := f.Project
		o := snapshot.Options{Dir: filepath.Join(p.DataDir, "snapshots"), Worktree: p.Worktree, Home: p.Home, Exclude: []string{p.DataDir}}
		if !p.Git {
			o.Off = p.Directory + " is not in a git repository"
		}
		f.repo, f.err = snapshot.Open(o)
	})
	return f.repo, f.err
}

// On reports whether changes can be reverted in this project, at least those that calls announce.
func (f *Files) On() bool {
	_, err := f.open()
	return err == nil
}

// warn logs each message once.
func (f *Files) warn(message string, args ...any) {
	if _, again := f.warned.LoadOrStore(message, true); !again {
		f.Log.Warn(message, args...)
	}
}

// Session records the changes that tool calls of a claimed session make to files, and reverts them. Calls that run at the same time share a
// window: all changes while it is open count as theirs. Begin and WaitStored are safe for use from many goroutines; the other methods are for a
// session without a running turn.
type Session struct {
	Files        *Files
	Conversation *live.Conversation
	// Background runs work that must end before the session is released.
	Background func(func())

	mu      sync.Mutex
	running int // calls in the window
	window  window
	storing sync.WaitGroup // the changes of the last window
}

// window is a period in which calls run.
type window struct {
	message string                           // its patch part lists the changes; its step begins and ends with the states, as in opencode
	tree    *snapshot.Tree                   // all files at the beginning; nil unless a call may write any
	named   map[snapshot.Path]snapshot.Entry // files that calls announced to write, as they were before the first of the calls
}

// Begin records the state of files before a call of a step writes them. The caller calls end after the call. message is the step's; paths are
// the files that the call announced to write, empty if it may write any. Files.On must have returned true.
func (k *Session) Begin(ctx context.Context, message string, paths []string) (end func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	repo := k.Files.repo
	if k.running == 0 {
		k.storing.Wait()
		k.window = window{message: message, named: map[snapshot.Path]snapshot.Entry{}}
	}
	k.running++
	var err error
	if len(paths) > 0 {
		err = k.name(repo, paths)
	} else if k.window.tree == nil && !repo.Never() {
		if k.window.tree, err = repo.Take(ctx); err == nil {
			live.ReplacePart(k.Conversation, k.window.message, func(p *sdk.StepStartPart) bool { p.Snapshot = k.window.tree.Hash; return true })
		}
	}
	k.complain(err)
	return func() { k.end(ctx) }
}

// name records the state of files that a call will write. If an earlier call may have changed them, it is their state before that call.
func (k *Session) name(repo *snapshot.Repo, files []string) error {
	var errs []error
	for _, file := range files {
		path := repo.PathOf(file)
		if _, known := k.window.named[path]; known {
			continue
		}
		var was snapshot.Entry
		var err error
		known := false
		if k.window.tree != nil {
			was, known = k.window.tree.Entry(path)
		}
		if !known {
			was, err = repo.Record(path)
		}
		if err == nil {
			k.window.named[path] = was
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// complain logs the reason why changes cannot be reverted. The call runs anyway.
func (k *Session) complain(err error) {
	if err != nil {
		k.Files.warn("file changes cannot be undone", "session", k.Conversation.ID(), "err", err)
	}
}

// end ends one call. After the last call of a window, its changes are stored in the background.
func (k *Session) end(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running--; k.running > 0 {
		return
	}
	w := k.window
	k.storing.Add(1)
	k.Background(func() { // ends with git, which is bounded; the runner waits for it before it releases the session
		defer k.storing.Done()
		k.complain(k.store(ctx, &w))
	})
}

// WaitStored waits until the changes of all finished calls are stored.
func (k *Session) WaitStored() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.storing.Wait()
}

// store stores the changes of a window.
func (k *Session) store(ctx context.Context, w *window) error {
	repo := k.Files.repo
	changes, after, err := w.changes(ctx, repo)
	if err != nil {
		return err
	}
	if after != nil {
		leftOut := slices.Concat(w.tree.LeftOut, after.LeftOut) // the calls may have removed some
		slices.Sort(leftOut)
		if leftOut = slices.Compact(leftOut); len(leftOut) > 0 && repo.IsNews(leftOut) {
			k.Files.warn("some files are too large, too many or not readable for snapshots; changes that commands make to them cannot be undone",
				"files", len(leftOut), "first", leftOut[0].String())
		}
		live.ReplacePart(k.Conversation, w.message, func(p *sdk.StepFinishPart) bool { p.Snapshot = after.Hash; return true })
	}
	if len(changes) > 0 {
		p, err := k.patch(repo, w, changes)
		if err != nil {
			return err
		}
		k.Conversation.AddPart(p)
		k.Conversation.UpdateSession(func(*sdk.Session) {}) // markShared reads only sessions that were updated
	}
	if _, err := repo.Collect(ctx); err != nil {
		k.Files.warn("old file states cannot be removed", "err", err)
	}
	return nil
}

// changes returns the changes of a window, and the state after it if there is one before it.
func (w *window) changes(ctx context.Context, repo *snapshot.Repo) (out []snapshot.Change, after *snapshot.Tree, err error) {
	if w.tree != nil {
		if after, err = repo.Take(ctx); err != nil {
			return nil, nil, err
		}
		out = repo.Changes(w.tree, after)
	}
	out = slices.DeleteFunc(out, func(c snapshot.Change) bool {
		_, ok := w.named[c.Path]
		return ok
	})
	for path, was := range w.named {
		is, err := repo.Record(path)
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

// patch returns the part that lists changes.
func (k *Session) patch(repo *snapshot.Repo, w *window, changes []snapshot.Change) (*sdk.PatchPart, error) {
	data, err := json.Marshal(changes)
	if err != nil {
		return nil, err
	}
	p := &sdk.PatchPart{
		PartHead: sdk.PartHead{ID: k.Conversation.IDs.New(sdk.PrefixPart), SessionID: k.Conversation.ID(), MessageID: w.message},
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

// changesOf returns the changes in a patch part. Parts that other programs wrote have none that could be reverted.
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

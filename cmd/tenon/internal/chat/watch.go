package chat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settleAfter is how long files have to be left alone before what changed is loaded: editors and compilers write in steps.
	settleAfter = 150 * time.Millisecond
	// maxWatched bounds the directories of one plugin that are watched.
	maxWatched = 500
)

// watcher tells when something below the paths of plugins changed.
type watcher struct {
	notify *fsnotify.Watcher
	files  []string // single files: nothing else in their directories counts
	roots  []string // packages
}

// newWatcher watches packages and single files. Close ends it.
func newWatcher(paths []string) (*watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch for changes: %w", err)
	}
	w := &watcher{notify: notify}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			w.roots = append(w.roots, path)
			err = w.tree(path)
		} else if err == nil {
			w.files = append(w.files, path)
			err = notify.Add(filepath.Dir(path))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("watch %s: %w", path, err), notify.Close())
		}
	}
	return w, nil
}

// tree watches a directory and those below it, but for what is not the author's own work.
func (w *watcher) tree(root string) error {
	count := 0
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if path != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"node_modules", "vendor", "target"}, d.Name())) {
			return fs.SkipDir
		}
		if count++; count > maxWatched {
			return fmt.Errorf("more than %d directories; name a smaller one", maxWatched)
		}
		return w.notify.Add(path)
	})
}

// counts reports whether an event is about something that is watched.
func (w *watcher) counts(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	if slices.Contains(w.files, e.Name) {
		return true
	}
	base := filepath.Base(e.Name)
	if strings.HasPrefix(base, ".") || strings.HasSuffix(base, "~") { // an editor's own files
		return false
	}
	return slices.ContainsFunc(w.roots, func(root string) bool { return strings.HasPrefix(e.Name, root+string(filepath.Separator)) })
}

// settled waits until the files are left alone, and drops what is known of changes so far.
func (w *watcher) settled(ctx context.Context) {
	quiet := time.NewTimer(settleAfter)
	defer quiet.Stop()
	for {
		select {
		case e, open := <-w.notify.Events:
			if !open {
				return
			}
			if w.counts(e) {
				quiet.Reset(settleAfter)
			}
			if e.Op.Has(fsnotify.Create) {
				w.follow(e.Name)
			}
		case <-quiet.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// follow watches a directory that is new. One that is gone again, or cannot be read, is left out.
func (w *watcher) follow(path string) {
	if info, err := os.Lstat(path); err == nil && info.IsDir() && w.counts(fsnotify.Event{Name: path, Op: fsnotify.Create}) {
		_ = w.tree(path)
	}
}

// events is what happens to files; nil when nothing is watched.
func (w *watcher) events() <-chan fsnotify.Event {
	if w == nil {
		return nil
	}
	return w.notify.Events
}

// errors is what went wrong with the watch; nil when nothing is watched.
func (w *watcher) errors() <-chan error {
	if w == nil {
		return nil
	}
	return w.notify.Errors
}

// Close ends the watch.
func (w *watcher) Close() error {
	if w == nil {
		return nil
	}
	return w.notify.Close()
}

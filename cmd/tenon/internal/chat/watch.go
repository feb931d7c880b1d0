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

	"github.com/tenonhq/tenon/internal/projectfs"
)

const (
	// settleAfter is how long files must be unchanged before they are loaded, because editors and compilers write in steps.
	settleAfter = 150 * time.Millisecond
	// maxWatched is the maximum number of watched directories of a plugin.
	maxWatched = 500
)

// watcher reports changes below the paths of plugins.
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
		path = projectfs.Real(path) // a link itself is not walked
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

// tree watches a directory and its subdirectories, except hidden ones and dependencies.
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
			return fmt.Errorf("more than %d directories; choose a smaller directory", maxWatched)
		}
		return w.notify.Add(path)
	})
}

// counts reports whether an event concerns a watched file.
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

// settled waits until the files stop changing, and discards the events so far.
func (w *watcher) settled(ctx context.Context) {
	quiet := time.NewTimer(settleAfter)
	defer quiet.Stop()
	for {
		select {
		case e := <-w.notify.Events:
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

// follow watches a new directory. Errors are ignored: it may already be removed.
func (w *watcher) follow(path string) {
	if info, err := os.Lstat(path); err == nil && info.IsDir() && w.counts(fsnotify.Event{Name: path, Op: fsnotify.Create}) {
		_ = w.tree(path)
	}
}

// events returns the events of files; nil if nothing is watched.
func (w *watcher) events() <-chan fsnotify.Event {
	if w == nil {
		return nil
	}
	return w.notify.Events
}

// errors returns the errors of the watch; nil if nothing is watched.
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

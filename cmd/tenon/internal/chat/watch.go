package chat

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/projectfs"
)

const (
	// pollEvery is the interval at which plugins are examined; it is longer for large ones, which would keep a core busy. Files must be unchanged
	// for one interval before they are loaded, because editors and compilers write in steps.
	pollEvery = 150 * time.Millisecond
	// maxWatched is the maximum number of watched directories.
	maxWatched = 500
)

// watcher detects changes of plugins' files. It is used from one goroutine.
type watcher struct {
	paths        []string // packages and single files
	ticker       *time.Ticker
	loaded, seen string // the files when they were loaded, and when they were last examined
}

// newWatcher watches packages and single files. Close ends it.
func newWatcher(paths []string) (*watcher, error) {
	w := &watcher{}
	for _, path := range paths {
		w.paths = append(w.paths, projectfs.Real(path)) // a link itself is not walked
	}
	var err error
	if w.loaded, err = w.files(); err != nil {
		return nil, fmt.Errorf("watch for changes: %w", err)
	}
	w.ticker = time.NewTicker(pollEvery)
	return w, nil
}

// files lists the files with their times and sizes, except hidden ones, backups and dependencies. With an error, the list is incomplete.
func (w *watcher) files() (string, error) {
	var out strings.Builder
	var problem error
	count := 0
	for _, root := range w.paths {
		if _, err := os.Stat(root); err != nil {
			problem = err
		}
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error { // files that vanish during the walk are left out
			switch name := filepath.Base(path); {
			case err != nil:
			case d.IsDir():
				if path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "vendor", "target"}, name)) {
					return fs.SkipDir
				}
				if count++; count > maxWatched {
					return fs.SkipAll
				}
			case path == root || !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, "~"):
				if info, err := os.Stat(path); err == nil {
					fmt.Fprintln(&out, path, info.ModTime().UnixNano(), info.Size())
				}
			}
			return nil
		})
	}
	if count > maxWatched {
		problem = fmt.Errorf("more than %d directories; choose a smaller directory", maxWatched)
	}
	return out.String(), problem
}

// changed reports whether the files differ from the loaded ones and have stopped changing. It is called for each tick.
func (w *watcher) changed() bool {
	begun := time.Now()
	now, _ := w.files() // a plugin that is missing now is a change
	w.ticker.Reset(max(pollEvery, 20*time.Since(begun)))
	stable := now == w.seen
	w.seen = now
	return stable && now != w.loaded
}

// ticks returns the channel of ticks; nil if nothing is watched.
func (w *watcher) ticks() <-chan time.Time {
	if w == nil {
		return nil
	}
	return w.ticker.C
}

// Close ends the watch.
func (w *watcher) Close() {
	if w != nil {
		w.ticker.Stop()
	}
}

package main

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

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
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

// Close ends the watch.
func (w *watcher) Close() error { return w.notify.Close() }

// absolute makes the paths of a flag absolute.
func absolute(paths []string) ([]string, error) {
	out := make([]string, len(paths))
	for i, path := range paths {
		var err error
		if out[i], err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// buildAll builds the packages among the paths.
func (a *app) buildAll(ctx context.Context, paths []string) error {
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			continue
		}
		if err := a.buildPlugin(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// watchTurns runs the prompt and then those that stdin has, in one session, and loads between turns what changed of the plugins. It
// ends at the end of stdin, or with a signal between turns.
func (a *app) watchTurns(ctx context.Context, w *workspace, m *machine, f *runFlags, in *host.PromptInput, signals <-chan signal) (err error) {
	watcher, err := newWatcher(m.options.plugins)
	if err != nil {
		return errors.Join(err, m.Close(ctx))
	}
	defer func() { err = errors.Join(err, watcher.Close(), m.Close(context.WithoutCancel(ctx))) }()
	s := &watching{a: a, lines: newAsker(a.screen, a.in, m.Host), watcher: watcher, signals: signals, reload: func(ctx context.Context) (string, error) {
		if err := a.buildAll(ctx, m.options.plugins); err != nil {
			return "", err
		}
		return strings.Join(m.options.plugins, ", "), m.reload(ctx)
	}}
	sub := m.Subscribe(subscriptionSize, true)
	defer sub.Close()
	for more := true; more; in.Text, more = s.next(ctx) {
		if in.Text == "" {
			a.screen.line(a.screen.paint(styleDim, "watching "+visible(strings.Join(m.options.plugins, ", "))+"; each line is a prompt"))
			continue
		}
		o, err := a.drive(ctx, w, m, sub, signals, conductOptions{
			format: f.format, quiet: f.quiet, interactive: m.options.interactive, lines: s.lines,
			begin: func(ctx context.Context) (*sdk.Session, error) {
				if in.SessionID != "" {
					return m.Session(ctx, in.SessionID)
				}
				return a.address(ctx, w, m, f, in)
			},
			turn: func(ctx context.Context) (*sdk.MessageWithParts, error) { return m.Prompt(ctx, *in) },
		})
		switch {
		case err != nil:
			return err
		case errors.Is(o.err, errHard):
			return o.err
		case o.err != nil:
			report(a.mask, o.err) // the next turn may go better
		}
		in.Parts = nil // what was attached belongs to the first prompt
	}
	return nil
}

// watching is a session of turns of "tenon run --watch".
type watching struct {
	a       *app
	lines   *asker // where further prompts come from
	watcher *watcher
	signals <-chan signal
	// reload loads the plugins anew and says what became of it.
	reload func(context.Context) (string, error)
}

// next waits for the next prompt and loads meanwhile what changed. more is false when none will come.
func (w *watching) next(ctx context.Context) (prompt string, more bool) {
	for {
		if w.lines.closed {
			return "", false
		}
		w.lines.readLine()
		select {
		case line := <-w.lines.lines:
			w.lines.reading, w.lines.closed = false, line.eof
			if line.text != "" {
				return line.text, true
			}
		case e := <-w.watcher.notify.Events:
			if w.watcher.counts(e) {
				w.load(ctx)
			}
		case err := <-w.watcher.notify.Errors:
			w.a.log.Warn("changes may have been missed", "err", err)
		case <-w.signals:
			return "", false
		}
	}
}

// load loads the plugins anew. What is broken leaves the old ones in place.
func (w *watching) load(ctx context.Context) {
	w.watcher.settled(ctx)
	done, err := w.reload(ctx)
	w.watcher.settled(ctx) // building writes files of its own
	if err != nil {
		f := remedy(err)
		w.a.screen.line(w.a.screen.paint(styleYellow, "not reloaded, the plugins stay as they were: "+visible(f.Error())))
		return
	}
	w.a.screen.line(w.a.screen.paint(styleDim, "reloaded "+visible(done)))
}

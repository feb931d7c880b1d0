package plugins

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/source"
)

// Places of plugins.
const (
	pluginsDir   = "plugins"
	projectTenon = ".tenon"
)

// discover returns all candidates: entries of the configuration that are paths, in order, then installed plugins, then the contents of the
// user's directory and of the project's, by name.
func (l *Loader) discover(installed []Installed) *Loaded {
	out := &Loaded{}
	for n := range l.opts.Entries {
		e := &l.opts.Entries[n]
		if path, ok := l.entryPath(e); ok { // names are looked up later, once all plugins are read
			i := e.mention(n)
			i.Name, i.Path = nameOfFile(path), path
			l.add(out, i)
		}
	}
	l.addInstalled(out, installed)
	if dir := l.opts.Project.ConfigDir; dir != "" {
		l.folder(out, filepath.Join(dir, pluginsDir), placeUser)
	}
	for _, dir := range projectfs.Upward(l.opts.Project.Directory, l.opts.Project.Worktree) {
		l.folder(out, filepath.Join(dir, projectTenon, pluginsDir), placeProject)
	}
	for _, i := range out.Items {
		l.accept(i)
	}
	return out
}

// accept rejects an item that the policy does not permit.
func (l *Loader) accept(i *Item) {
	r, signer := source.Ref{Kind: source.Path, URL: i.source}, ""
	err := error(nil)
	if i.installed != nil {
		signer = i.installed.Signer
		r, err = i.installed.Resolved(filepath.Dir(i.installed.Lock), l.opts.Project.Home)
	}
	if err == nil {
		err = l.opts.Policy.Accepts(r, signer)
	}
	if err == nil && i.installed != nil {
		if r, err = i.installed.Content(r); err == nil {
			err = l.opts.Policy.Accepts(r, signer)
		}
	}
	if err != nil && i.usable() {
		i.reject(err)
	}
}

func (l *Loaded) warn(format string, args ...any) {
	l.Warnings = append(l.Warnings, fmt.Sprintf(format, args...))
}

// mention returns an item for which only the entry is known.
func (e *Entry) mention(order int) *Item {
	i := &Item{Name: e.Path, Path: e.Path, From: e.From, Project: e.Project, entry: e, order: order, Options: e.Options, Required: e.Required, place: placeUser}
	switch {
	case e.Flag:
		i.place = placeFlag
	case e.Project:
		i.place = placeProject
	}
	return i
}

// entryPath returns the path of an entry; false if the entry is a name.
func (l *Loader) entryPath(e *Entry) (string, bool) {
	p := e.Path
	switch {
	case p == "~" || strings.HasPrefix(p, "~/") || strings.HasPrefix(p, `~\`):
		return filepath.Join(l.opts.Project.Home, p[1:]), true
	case filepath.IsAbs(p):
		return filepath.Clean(p), true
	case e.Flag || relativePath().MatchString(p):
		return filepath.Join(l.opts.Project.Directory, p), true
	}
	return "", false
}

// relativePath matches texts that begin with . or .. as the first directory.
var relativePath = lazyregexp.New(`^\.\.?([/\\]|$)`)

// add resolves an item's path and adds the item, unless it is already present.
func (l *Loader) add(out *Loaded, i *Item) {
	source, err := i.source, error(nil)
	if source == "" {
		source, err = filepath.EvalSymlinks(i.Path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		i.reject(fmt.Errorf("%w: %s, named in %s", ErrMissing, i.Path, orUnknown(i.From)))
	case err != nil:
		i.reject(err)
	case i.Project && !l.inProject(source):
		i.reject(fmt.Errorf("%s leads to %s, which %w; name it in your own configuration", i.Path, source, ErrForeign))
	}
	i.source = source
	same := func(o *Item) bool {
		return o.usable() == i.usable() && o.source == source && (i.usable() || o.Path == i.Path)
	}
	if n := slices.IndexFunc(out.Items, same); n >= 0 {
		out.Items[n].merge(i)
		return
	}
	out.Items = append(out.Items, i)
}

// merge adds another mention of the same plugin. The command line takes precedence over the user's configuration, which takes precedence
// over a project's file; of two equal mentions, the later counts. The options are the user's.
func (i *Item) merge(other *Item) {
	i.Required = i.Required || other.Required
	if other.entry == nil {
		return
	}
	if i.entry != nil && other.place > i.place {
		if other.place == placeProject {
			i.ignoreOptions(other)
		} else if len(i.Options) == 0 {
			i.Options = other.Options // the command line has no options
		}
		return
	}
	if i.entry == nil {
		i.order = other.order
	}
	i.entry, i.From = other.entry, other.From
	if len(other.Options) > 0 {
		i.Options = other.Options
	}
	i.place, i.Project = min(i.place, other.place), i.Project && other.Project
}

func (i *Item) ignoreOptions(other *Item) {
	if len(other.Options) > 0 {
		i.Ignored = append(i.Ignored, fmt.Sprintf("options from %s are ignored: the plugin is the user's, not the project's", orUnknown(other.From)))
	}
}

// maxWarnings is the maximum number of warnings about the files of a directory.
const maxWarnings = 10

// folder adds the plugins of a directory, which may be missing.
func (l *Loader) folder(out *Loaded, dir string, p place) {
	before := len(out.Warnings)
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		out.warn("%v", err)
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		source, _ := filepath.EvalSymlinks(path) // add reports the error
		// Links that leave the project are not inspected: add rejects them.
		if source != "" && (p != placeProject || l.inProject(source)) && !out.isPlugin(path, source) {
			continue
		}
		l.add(out, &Item{source: source, Name: nameOfFile(path), Path: path, From: dir, place: p, Project: p == placeProject, order: len(l.opts.Entries)})
	}
	if more := len(out.Warnings) - before - maxWarnings; more > 0 {
		out.Warnings = out.Warnings[:before+maxWarnings]
		out.warn("%s: %d more files and directories are not plugins", dir, more)
	}
}

// isPlugin reports whether a file or directory in a plugin directory is a plugin. It warns about scripts that are not executable and
// about directories without a manifest.
func (l *Loaded) isPlugin(path, source string) bool {
	info, err := os.Stat(source)
	switch {
	case err != nil:
		return false
	case info.Mode().IsRegular():
		known := manifest.CarrierOfFile(source).Extension != "" || isProgram(source, info)
		if !known && slices.Contains([]string{".js", ".mjs", ".ts", ".py", ".sh"}, filepath.Ext(source)) {
			l.warn("%q is not a plugin: put the script into a package with a %s, or make it executable (not on Windows)", path, manifest.File)
		}
		return known
	case !info.IsDir():
		return false
	}
	if !manifest.Is(source) {
		l.warn("%s is not a plugin: %s is missing", path, manifest.File)
		return false
	}
	return true
}

func isProgram(path string, info fs.FileInfo) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(filepath.Ext(path), ".exe")
	}
	return info.Mode()&0o111 != 0
}

// inProject reports whether a path, links resolved, is in the project.
func (l *Loader) inProject(source string) bool {
	top, err := filepath.EvalSymlinks(cmp.Or(l.opts.Project.Worktree, l.opts.Project.Directory))
	return err == nil && projectfs.Inside(top, source)
}

// nameOfFile derives a name for a plugin from its file, until its own name is known.
func nameOfFile(path string) string {
	base := strings.ToLower(filepath.Base(path))
	base = strings.TrimSuffix(strings.TrimSuffix(base, ".exe"), manifest.CarrierOfFile(base).Extension)
	return cmp.Or(manifest.MakeName(base), "plugin")
}

func orUnknown(from string) string {
	return cmp.Or(from, "the configuration")
}

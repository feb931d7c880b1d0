package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// ErrNotFetched is returned for an installed plugin whose content is not on this machine.
var ErrNotFetched = errors.New("not fetched")

// Installed is a plugin of a lock file. Its content is in the vault, by its digest.
type Installed struct {
	pins.Plugin
	Lock    string // absolute path of the lock file
	Project bool   // the lock file is the project's
}

// Source identifies the plugin for approvals: they are valid for one lock file.
func (in *Installed) Source() string { return in.Lock + "#" + in.Name }

// LockFiles returns the paths of the user's lock file and of the project's; empty without a directory.
func LockFiles(p sdk.Project) (user, project string) {
	if p.ConfigDir != "" {
		user = filepath.Join(p.ConfigDir, pins.Name)
	}
	if p.Worktree != "" {
		project = filepath.Join(p.Worktree, pins.Name)
	}
	return user, project
}

// readInstalled reads the lock files, the user's first. Errors wrap pins.ErrFile.
func (l *Loader) readInstalled() ([]Installed, error) {
	var out []Installed
	user, project := LockFiles(l.opts.Project)
	for _, path := range []string{user, project} {
		if path == "" {
			continue
		}
		f, err := l.History().Read(path)
		if err != nil {
			return nil, err
		}
		for _, p := range f.Plugins {
			staged := func(s Installed) bool { return s.Lock == path && s.Name == p.Name }
			if !slices.ContainsFunc(l.opts.Staged, staged) {
				out = append(out, Installed{Plugin: p, Lock: path, Project: path == project})
			}
		}
	}
	return append(out, l.opts.Staged...), nil
}

// addInstalled adds the plugins of the lock files.
func (l *Loader) addInstalled(out *Loaded, list []Installed) {
	for n := range list {
		in := &list[n]
		i := &Item{
			Name: in.Name, Path: in.Ref, From: in.Lock, Project: in.Project, Digest: in.Digest, source: in.Source(), installed: in,
			place: placeUser, order: len(l.opts.Entries),
		}
		if in.Project {
			i.place = placeProject
		}
		out.Items = append(out.Items, i)
	}
}

// openInstalled finds the content of an installed item. Nothing is fetched.
func (l *Loader) openInstalled(ctx context.Context, i *Item) (err error) {
	if i.Digest != "" { // else it is made on each machine, and not yet on this one
		i.sealed, err = l.vault.Open(ctx, i.Digest)
	}
	switch {
	case i.Digest == "", errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s of %s; run: tenon plugin sync", ErrNotFetched, i.Path, i.From)
	case errors.Is(err, trust.ErrChanged):
		return fmt.Errorf("%w; run: tenon plugin sync", err)
	}
	return err
}

// Stored returns the directory in which an installed plugin keeps its data, which may not exist, and the name under which its sign-ins
// are stored. A later plugin of this name in the lock file has the same.
func (l *Loader) Stored(in *Installed) (dir, owner string) {
	i := &Item{Name: in.Name, source: in.Source()}
	return l.dataDir(i), i.owner()
}

// Vault returns the sealed copies, in which installed plugins are.
func (l *Loader) Vault() *trust.Vault { return l.vault }

// History returns the lock files' earlier states.
func (l *Loader) History() pins.History { return pins.History{Dir: l.pluginDir()} }

// Pin returns the lock file's entry of an installed item; false for others.
func (i *Item) Pin() (Installed, bool) {
	if i.installed == nil {
		return Installed{}, false
	}
	return *i.installed, true
}

// NameOf returns the name of a plugin in the vault: that of its manifest, or, of a bare module or program, one made of its file name.
func NameOf(s *trust.Sealed, file string) (string, error) {
	if s.Single() {
		return nameOfFile(file), nil
	}
	p, err := manifest.ReadNamed(s.Root, nameOfFile(file))
	if err != nil {
		return "", err
	}
	return p.Description.Name, nil
}

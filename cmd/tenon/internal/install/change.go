package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/trust"
)

// sync fetches the missing content of the lock files.
func (j *job) sync(ctx context.Context, _ []string) error {
	return j.both(nil, func(f *pins.File) error {
		missing, err := j.installer.Missing(ctx, j.target, f)
		if err != nil {
			return err
		}
		if err := j.confirmHosts(missing); err != nil {
			return err
		}
		var problems []error
		for _, p := range missing {
			s, err := j.installer.Stage(ctx, j.target, p.Ref, &p)
			if err != nil {
				problems = append(problems, remedied(fmt.Errorf("plugin %s: %w", p.Name, err)))
				continue
			}
			j.Say("fetched %s (%s)", p.Name, install.Describe(s.Plugin))
		}
		if err := cli.Join(problems...); err != nil {
			return err
		}
		if !j.frozen {
			if f, err = j.pinned(); err != nil { // now with the digests of the content that was made on this machine
				return err
			}
			if err := j.approvePinned(ctx, f.Plugins, true); err != nil {
				return err
			}
		}
		if len(f.Plugins) > 0 {
			j.Say("%s: %s as pinned", j.target.Path, view.Plural(len(f.Plugins), "plugin"))
		}
		return nil
	})
}

// confirmHosts asks before anything is sent to hosts that a project's file names.
func (j *job) confirmHosts(missing []pins.Plugin) error {
	if !j.target.Project || j.yes || j.installer.Fetcher.Offline {
		return nil
	}
	hosts, err := j.installer.Hosts(j.target, missing)
	if err != nil || len(hosts) == 0 {
		return err
	}
	text := j.target.Path + " fetches from: " + strings.Join(hosts, ", ")
	if j.frozen {
		return cli.Fail(cli.ExitRefused, errors.New(text), "if you trust these hosts, pass --yes; with --frozen it approves no plugin")
	}
	j.Say("%s", text)
	return j.Consent(false, "  fetch from there? [y/N] ", cli.Fail(cli.ExitRefused, errors.New("nothing was fetched"), "run it again once you trust these hosts"))
}

// approvePinned asks about the pinned plugins that are not approved. If asks is false, it names the command that does.
func (j *job) approvePinned(ctx context.Context, list []pins.Plugin, asks bool) error {
	set, err := j.workspace.Extensions(ctx, nil, false)
	if err != nil {
		return err
	}
	var pending []*plugins.Installed
	for _, p := range list {
		in := plugins.Installed{Plugin: p, Lock: j.target.Path, Project: j.target.Project}
		if c := find(set, &in); c != nil && c.State == plugins.StatePending {
			pending = append(pending, &in)
		}
	}
	if err = set.Discard(ctx); len(pending) > 0 && !asks {
		j.Say("tenon plugin sync asks about content that is not approved")
		return err
	}
	for _, s := range pending {
		if err == nil {
			err = j.approve(ctx, s)
		}
	}
	return err
}

// change is a newer content of an installed plugin.
type change struct {
	Name      string `json:"name"`
	Installed string `json:"installed"`
	Available string `json:"available"`
	Lock      string `json:"lock"`

	old pins.Plugin
	new *plugins.Installed
}

// changes resolves the references of installed plugins again and returns the plugins whose content changed. names selects plugins. The
// error is about plugins that cannot be fetched; the others are returned with it.
func (j *job) changes(ctx context.Context, f *pins.File, names []string) ([]change, error) {
	j.installer.Vendor, j.installer.Fetcher.Seed = "", "" // these hold only pinned content, not newer content, so all hosts are asked
	list := slices.DeleteFunc(f.Plugins, func(p pins.Plugin) bool { return len(names) > 0 && !slices.Contains(names, p.Name) })
	if err := j.confirmHosts(list); err != nil {
		return nil, err
	}
	var out []change
	var problems []error
	for _, p := range list {
		s, err := j.installer.Renew(ctx, j.target, p)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			problems = append(problems, remedied(fmt.Errorf("plugin %s: %w", p.Name, err)))
		case !s.Same(&p):
			out = append(out, change{p.Name, install.Describe(p), install.Describe(s.Plugin), j.target.Path, p, s})
		}
	}
	return out, cli.Join(problems...)
}

func (j *job) update(ctx context.Context, names []string) error {
	changed := false
	names = j.asPinned(names)
	err := j.both(names, func(f *pins.File) error {
		list, failed := j.changes(ctx, f, names)
		for _, c := range list {
			changed = true
			text := c.Name + "  " + c.Installed + " -> " + c.Available
			if c.old.Commit != "" && c.new.Commit != "" {
				text += "  (" + c.old.Commit[:12] + ".." + c.new.Commit[:12] + ")"
			}
			j.Say("%s", text)
			act := j.adopt
			if j.dry {
				act = j.showRequests
			}
			if err := act(ctx, c.new); err != nil {
				return cli.Join(failed, remedied(err))
			}
		}
		return failed
	})
	if err == nil && !changed {
		j.Say("everything is up to date")
	}
	return err
}

// showRequests shows how the requests of new content differ from the approved ones.
func (j *job) showRequests(ctx context.Context, s *plugins.Installed) error {
	set, err := j.workspace.Staged(ctx, []plugins.Installed{*s})
	if err != nil {
		return err
	}
	if c := find(set, s); c != nil {
		j.Screen.Line(j.Screen.Wrapped(strings.TrimRight(set.Text(c), "\n")))
	}
	return set.Discard(ctx)
}

func (j *job) outdated(ctx context.Context, _ []string) error {
	var list []change
	err := j.both(nil, func(f *pins.File) error {
		changes, err := j.changes(ctx, f, nil)
		list = append(list, changes...)
		return err
	})
	if err != nil && len(list) == 0 {
		return err
	}
	return errors.Join(err, cli.List(j.App, list, "everything is up to date", []string{"name", "installed", "available", "lock file"}, func(c *change) []string {
		return []string{c.Name, c.Installed, c.Available, c.Lock}
	}))
}

func (j *job) rollback(ctx context.Context, _ []string) error {
	from, to, err := j.loader.History().Rollback(ctx, j.target.Path)
	if errors.Is(err, pins.ErrNoHistory) {
		return cli.UsageError("tenon plugin rollback changes your own plugins; with --project, the project's", "%w", err)
	}
	if err != nil {
		return err
	}
	var changed []pins.Plugin
	for _, p := range to.Plugins {
		old := from.Find(p.Name)
		switch {
		case old == nil:
			j.Say("added %s (%s)", p.Name, install.Describe(p))
		case !reflect.DeepEqual(*old, p):
			j.Say("%s  %s, %s -> %s, %s", p.Name, old.Ref, install.Describe(*old), p.Ref, install.Describe(p))
		}
		if old == nil || !old.Same(&p) {
			changed = append(changed, p)
		}
	}
	for _, p := range from.Plugins {
		if to.Find(p.Name) == nil {
			j.Say("removed %s", p.Name)
		}
	}
	return j.approvePinned(ctx, changed, j.yes || j.Screen.Answers)
}

// remove removes plugins. It revokes all approvals first, so that no removed plugin stays approved if it fails or is interrupted.
func (j *job) remove(ctx context.Context, names []string) error {
	f, err := j.pinned()
	if err != nil {
		return err
	}
	names = j.asPinned(names)
	for _, name := range names {
		if f.Find(name) == nil {
			return cli.UsageError("tenon plugin list shows the installed plugins; the project's need --project", "%q is not in %s", name, j.target.Path)
		}
	}
	var failed error
	for _, name := range names {
		if err := j.loader.Untrust(ctx, j.removed(name).Source()); !errors.Is(err, trust.ErrNotFound) {
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil {
		return failed
	}
	err = j.loader.History().Change(ctx, j.target.Path, func(f *pins.File) (*pins.File, error) {
		for _, name := range names {
			f = f.Without(name)
		}
		return f, nil
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		j.Say("removed %s", name)
		failed = errors.Join(failed, j.forget(ctx, name))
	}
	return failed
}

func (j *job) removed(name string) *plugins.Installed {
	return &plugins.Installed{Plugin: pins.Plugin{Name: name}, Lock: j.target.Path}
}

// forget deletes the data that a removed plugin stored, if --purge is set or the user confirms.
func (j *job) forget(ctx context.Context, name string) (err error) {
	stored, remove, unread := j.set.Stored(j.removed(name))
	if len(stored) == 0 {
		return unread
	}
	what, purge := strings.Join(stored, " "), j.purge
	if !purge && j.Screen.Answers {
		if purge, err = j.Confirm("  also delete what " + name + " stored (" + what + ")? [y/N] "); err != nil {
			return errors.Join(unread, err)
		}
	}
	if !purge {
		j.Say("  kept %s; --purge deletes it", what)
		return unread
	}
	return errors.Join(unread, remove(ctx))
}

func (j *job) verify(ctx context.Context, _ []string) error {
	count := 0
	err := j.both(nil, func(f *pins.File) error {
		var failed error
		for _, p := range f.Plugins {
			err := fs.ErrNotExist
			if p.Digest != "" { // without a digest, each machine makes the content itself, and this one has not done so yet
				err = j.loader.Vault().Verify(ctx, p.Digest)
			}
			if errors.Is(err, fs.ErrNotExist) {
				err = plugins.ErrNotFetched
			}
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: %w", p.Name, err))
			}
			count++
		}
		if failed != nil {
			return cli.Fail(cli.ExitTurn, failed, "run: tenon plugin sync")
		}
		return nil
	})
	if err == nil {
		j.Say("verified %s", view.Plural(count, "plugin"))
	}
	return err
}

func (j *job) why(ctx context.Context, names []string) error {
	names = j.asPinned(names)
	return j.both(names, func(f *pins.File) error {
		p := f.Find(names[0])
		if p == nil {
			return nil
		}
		j.Say("%s\n  lock file  %s\n  reference  %s\n  pinned     %s", p.Name, j.target.Path, p.Ref, install.Describe(*p))
		if p.Source != "" {
			j.Say("  source     %s", p.Source)
		}
		for _, e := range j.workspace.Loaded.Config.Plugins {
			if e.Path == p.Name || e.Path == p.Ref {
				j.Say("  named in   %s", j.workspace.Loaded.PluginOrigin(e.Path))
			}
		}
		if s, err := j.loader.Vault().Open(ctx, p.Digest); err == nil {
			j.Say("  content    %s", filepath.Clean(s.Root))
		}
		return nil
	})
}

package install

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/trust"
)

// both runs f for the lock file of the user and, if there is one, that of the project, with the content of the file. If f fails for one, it
// still runs for the other.
func both(ctx context.Context, a *cli.App, f func(j *job, pinned *pins.File) error) error {
	return with(ctx, a, false, func(j *job) error {
		user, project := plugins.LockFiles(j.workspace.Project)
		var problems []error
		for _, t := range []install.Target{{Path: user}, {Path: project, Project: true}} {
			if t.Path == "" {
				continue
			}
			j.target = t
			j.installer.Fetcher.Guarded = t.Project
			if dir := filepath.Join(filepath.Dir(t.Path), filepath.FromSlash(install.VendorDir)); t.Project {
				j.installer.Vendor, j.installer.Fetcher.Seed = dir, dir
			}
			pinned, err := j.pinned()
			if err == nil {
				err = f(j, pinned)
			}
			problems = append(problems, err)
		}
		return errors.Join(problems...)
	})
}

func syncCommand(a *cli.App) *cobra.Command {
	var yes, frozen, offline bool
	cmd := &cobra.Command{
		Use: "sync", Short: "Fetch the exact content pinned in the lock files",
		Long: `Fetch the plugins in your ` + pins.Name + ` and the project's, exactly as pinned, and ask about those that are not
approved. Content that differs from its pin is an error. New hosts in the project's file need your confirmation.

With --frozen, tenon asks nothing and approves nothing, and fails unless every plugin has its pinned content.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return both(cmd.Context(), a, func(j *job, f *pins.File) error {
				j.installer.Fetcher.Offline = offline
				return j.sync(cmd.Context(), f, yes, frozen)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation; with --frozen it confirms only hosts")
	cmd.Flags().BoolVar(&frozen, "frozen", false, "only restore pinned content; approve nothing")
	cmd.Flags().BoolVar(&offline, "offline", false, "use only what was downloaded before")
	return cmd
}

// sync fetches what is missing of one lock file.
func (j *job) sync(ctx context.Context, f *pins.File, yes, frozen bool) error {
	missing, err := j.installer.Missing(ctx, f)
	if err != nil {
		return err
	}
	if err := j.confirmHosts(missing, yes, frozen); err != nil {
		return err
	}
	for _, p := range missing {
		s, err := j.installer.Stage(ctx, j.target, p.Ref, &p)
		if err != nil {
			return err
		}
		j.app.Screen.Line("fetched " + terminal.Visible(p.Name) + " (" + terminal.Visible(install.Describe(s.Plugin)) + ")")
	}
	if !frozen {
		if f, err = j.pinned(); err != nil { // with the digests of what was made here
			return err
		}
		if err := j.approvePinned(ctx, f.Plugins, yes); err != nil {
			return err
		}
	}
	if len(f.Plugins) > 0 {
		j.app.Screen.Line(terminal.Visible(j.target.Path) + ": " + view.Plural(len(f.Plugins), "plugin") + " as pinned")
	}
	j.loader.Save()
	return nil
}

// confirmHosts asks before anything is sent to hosts that a project's file names.
func (j *job) confirmHosts(missing []pins.Plugin, yes, frozen bool) error {
	if !j.target.Project || yes || j.installer.Fetcher.Offline {
		return nil
	}
	hosts, err := j.installer.Hosts(j.target, missing)
	if err != nil || len(hosts) == 0 {
		return err
	}
	text := terminal.Visible(j.target.Path) + " fetches from: " + terminal.Visible(strings.Join(hosts, ", "))
	if frozen {
		return cli.Fail(cli.ExitRefused, errors.New(text), "if you trust these hosts, pass --yes; with --frozen it approves no plugin")
	}
	j.app.Screen.Line(text)
	ok, err := j.app.Confirm("  fetch from there? [y/N] ")
	if err == nil && !ok {
		err = cli.Fail(cli.ExitRefused, errors.New("nothing was fetched"), "run it again once you trust these hosts")
	}
	return err
}

// approvePinned asks about the pinned plugins that were not approved.
func (j *job) approvePinned(ctx context.Context, list []pins.Plugin, yes bool) error {
	set, err := j.workspace.Extensions(ctx, nil, false)
	if err != nil {
		return err
	}
	var pending []plugins.Installed
	for _, p := range list {
		in := plugins.Installed{Plugin: p, Lock: j.target.Path, Project: j.target.Project}
		if c := find(set, &in); c != nil && c.State == plugins.StatePending {
			pending = append(pending, in)
		}
	}
	if err := set.Discard(ctx); err != nil {
		return err
	}
	for _, in := range pending {
		if err := j.approve(ctx, &install.Staged{Installed: in}, yes, nil); err != nil {
			return err
		}
	}
	return nil
}

// update is a newer content of an installed plugin.
type update struct {
	old pins.Plugin
	new *install.Staged
}

// updates resolves the references of installed plugins again and returns those whose content changed. names selects plugins. The error is
// about those that cannot be fetched; the others are returned with it.
func (j *job) updates(ctx context.Context, f *pins.File, names []string, found map[string]bool, yes bool) ([]update, error) {
	j.installer.Vendor, j.installer.Fetcher.Seed = "", "" // they have what is pinned, not what is newer: all hosts are asked
	list := slices.DeleteFunc(f.Plugins, func(p pins.Plugin) bool { return len(names) > 0 && !slices.Contains(names, p.Name) })
	if err := j.confirmHosts(list, yes, false); err != nil {
		return nil, err
	}
	var out []update
	var problems []error
	for _, p := range list {
		found[p.Name] = true
		s, err := j.installer.Renew(ctx, j.target, p)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			problems = append(problems, fmt.Errorf("plugin %s: %w", p.Name, err))
		case !s.Same(&p):
			out = append(out, update{p, s})
		}
	}
	return out, errors.Join(problems...)
}

func (u update) line() string {
	text := u.old.Name + "  " + install.Describe(u.old) + " -> " + install.Describe(u.new.Plugin)
	if u.old.Commit != "" && u.new.Commit != "" {
		text += "  (" + u.old.Commit[:12] + ".." + u.new.Commit[:12] + ")"
	}
	return text
}

func unknown(names []string, found map[string]bool) error {
	for _, name := range names {
		if !found[name] {
			return cli.UsageError("tenon plugin list shows the installed plugins", "%q is not installed", name)
		}
	}
	return nil
}

func updateCommand(a *cli.App) *cobra.Command {
	var yes, dry bool
	cmd := &cobra.Command{
		Use: "update [NAME...]", Short: "Update installed plugins",
		Long: `Look for newer content of installed plugins, show the changes, and pin the content you approve. Running turns keep the
content they started with.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			found, changed := map[string]bool{}, false
			err := both(cmd.Context(), a, func(j *job, f *pins.File) error {
				list, failed := j.updates(cmd.Context(), f, names, found, yes)
				for _, u := range list {
					changed = true
					a.Screen.Line(terminal.Visible(u.line()))
					if dry {
						if err := j.showChanges(cmd.Context(), u); err != nil {
							return err
						}
						continue
					}
					if err := j.adopt(cmd.Context(), []*install.Staged{u.new}, yes, nil); err != nil {
						return errors.Join(failed, err)
					}
				}
				return failed
			})
			if err == nil {
				err = unknown(names, found)
			}
			if err == nil && !changed {
				a.Screen.Line("everything is up to date")
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would change")
	return cmd
}

// showChanges shows how the requests of a new content differ from the approved ones.
func (j *job) showChanges(ctx context.Context, u update) error {
	set, err := j.workspace.Staged(ctx, []plugins.Installed{u.new.Installed})
	if err != nil {
		return err
	}
	if c := find(set, &u.new.Installed); c != nil {
		j.app.Screen.Line(strings.TrimRight(set.Text(c), "\n"))
	}
	return set.Discard(ctx)
}

func outdatedCommand(a *cli.App) *cobra.Command {
	return a.FormatFlag(&cobra.Command{
		Use: "outdated", Short: "List installed plugins with newer content",
		Long: "Look for newer content of installed plugins and list it. The hosts of a project's plugins need your confirmation; without a\nterminal, use tenon plugin update --dry-run --yes.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			type row struct {
				Name, Installed, Available, Lock string
			}
			var list []row
			err := both(cmd.Context(), a, func(j *job, f *pins.File) error {
				updates, err := j.updates(cmd.Context(), f, nil, map[string]bool{}, false)
				for _, u := range updates {
					list = append(list, row{u.old.Name, install.Describe(u.old), install.Describe(u.new.Plugin), j.target.Path})
				}
				return err
			})
			if err != nil && len(list) == 0 {
				return err
			}
			return errors.Join(err, cli.List(a, list, cli.Listing[row]{
				Empty: "everything is up to date", Head: []string{"name", "installed", "available", "lock file"},
				Row: func(r *row) []string {
					return []string{terminal.OneLine(r.Name), terminal.OneLine(r.Installed), terminal.OneLine(r.Available), terminal.OneLine(r.Lock)}
				},
			}))
		},
	})
}

func rollbackCommand(a *cli.App) *cobra.Command {
	var project, yes bool
	cmd := &cobra.Command{
		Use: "rollback", Short: "Undo the last install, update or remove",
		Long: "Undo the last install, update or remove, and ask about content that is not approved.",
		RunE: body(a, &project, func(ctx context.Context, j *job, _ []string) error {
			from, to, err := j.loader.History().Rollback(ctx, j.target.Path)
			if errors.Is(err, pins.ErrNoHistory) {
				return cli.UsageError("for the project's plugins, run: tenon plugin rollback --project", "%w", err)
			}
			if err != nil {
				return err
			}
			for _, line := range difference(from, to) {
				a.Screen.Line(terminal.Visible(line))
			}
			changed := slices.DeleteFunc(to.Plugins, func(p pins.Plugin) bool {
				old := from.Find(p.Name)
				return old != nil && old.Same(&p)
			})
			if len(changed) > 0 && !yes && !a.Screen.Answers {
				a.Screen.Line("tenon plugin sync asks about content that is not approved")
				return nil
			}
			return j.approvePinned(ctx, changed, yes)
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	projectFlag(cmd, &project)
	return cmd
}

// difference describes a change of a lock file, a line for each plugin.
func difference(from, to *pins.File) []string {
	var out []string
	for _, p := range to.Plugins {
		switch old := from.Find(p.Name); {
		case old == nil:
			out = append(out, "added "+p.Name+" ("+install.Describe(p)+")")
		case !reflect.DeepEqual(*old, p):
			out = append(out, p.Name+"  "+old.Ref+", "+install.Describe(*old)+" -> "+p.Ref+", "+install.Describe(p))
		}
	}
	for _, p := range from.Plugins {
		if to.Find(p.Name) == nil {
			out = append(out, "removed "+p.Name)
		}
	}
	return out
}

func removeCommand(a *cli.App) *cobra.Command {
	var project, purge bool
	cmd := &cobra.Command{
		Use: "remove NAME...", Aliases: []string{"rm", "uninstall"}, Short: "Remove installed plugins and their approvals", Args: cli.Args(1, -1, "a name"),
		Long: `Remove installed plugins and their approvals. tenon keeps a plugin's data and sign-ins for a later plugin of the same name;
--purge deletes them.`,
		RunE: body(a, &project, func(ctx context.Context, j *job, names []string) error {
			f, err := j.pinned()
			if err != nil {
				return err
			}
			for _, name := range names {
				if f.Find(name) == nil {
					return cli.UsageError("tenon plugin list shows the installed plugins; the project's need --project", "%q is not in %s", name, j.target.Path)
				}
			}
			return j.remove(ctx, names, purge)
		}),
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "also delete their data and sign-ins; without it, a terminal asks")
	projectFlag(cmd, &project)
	return cmd
}

// remove removes plugins. It revokes all approvals first: if it fails or is interrupted, no plugin is removed that is still approved.
func (j *job) remove(ctx context.Context, names []string, purge bool) error {
	var problems []error
	for _, name := range names {
		if err := j.loader.Untrust(ctx, j.removed(name).Source()); err != nil && !errors.Is(err, trust.ErrNotFound) {
			problems = append(problems, err)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	err := j.loader.History().Change(ctx, j.target.Path, func(f *pins.File) (*pins.File, error) {
		for _, name := range names {
			f = f.Without(name)
		}
		return f, nil
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		j.app.Screen.Line("removed " + terminal.Visible(name))
	}
	for _, name := range names {
		problems = append(problems, j.forget(ctx, name, purge))
	}
	return errors.Join(problems...)
}

func (j *job) removed(name string) *plugins.Installed {
	return &plugins.Installed{Plugin: pins.Plugin{Name: name}, Lock: j.target.Path}
}

// forget deletes what a removed plugin stored if purge is set or the user confirms it.
func (j *job) forget(ctx context.Context, name string, purge bool) (err error) {
	stored, unread := j.set.Stored(j.removed(name))
	if stored.Empty() {
		return unread
	}
	what := terminal.Visible(strings.Join(append(stored.Tokens, stored.Dir), " "))
	if !purge && j.app.Screen.Answers {
		if purge, err = j.app.Confirm("  also delete what " + terminal.Visible(name) + " stored (" + what + ")? [y/N] "); err != nil {
			return errors.Join(unread, err)
		}
	}
	if !purge {
		j.app.Screen.Line("  kept " + what + "; --purge deletes it")
		return unread
	}
	return errors.Join(unread, stored.Delete(ctx))
}

func verifyCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Check installed plugins against their pins",
		RunE: func(cmd *cobra.Command, _ []string) error {
			count := 0
			err := both(cmd.Context(), a, func(j *job, f *pins.File) error {
				for _, p := range f.Plugins {
					err := plugins.ErrNotFetched
					if p.Digest != "" { // else each machine makes the content, and this one has not yet
						err = j.loader.Vault().Verify(cmd.Context(), p.Digest)
					}
					if err != nil {
						return cli.Fail(cli.ExitTurn, fmt.Errorf("%s: %w", p.Name, err), "run: tenon plugin sync")
					}
					count++
				}
				return nil
			})
			if err == nil {
				a.Screen.Line("verified " + view.Plural(count, "plugin"))
			}
			return err
		},
	}
}

func whyCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "why NAME", Short: "Show where an installed plugin comes from", Args: cli.Args(1, 1, "a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			found := map[string]bool{}
			err := both(cmd.Context(), a, func(j *job, f *pins.File) error {
				p := f.Find(args[0])
				if p == nil {
					return nil
				}
				found[p.Name] = true
				lines := []string{p.Name, "  lock file  " + j.target.Path, "  reference  " + p.Ref, "  pinned     " + install.Describe(*p)}
				if p.Source != "" {
					lines = append(lines, "  source     "+p.Source)
				}
				for _, e := range j.workspace.Loaded.Config.Plugins {
					if e.Path == p.Name || e.Path == p.Ref {
						lines = append(lines, "  named in   "+j.workspace.Loaded.PluginOrigin(e.Path).String())
					}
				}
				s, err := j.loader.Vault().Open(cmd.Context(), p.Digest)
				if err == nil {
					lines = append(lines, "  content    "+filepath.Clean(s.Root))
				}
				for _, line := range lines {
					a.Screen.Line(terminal.Visible(line))
				}
				return nil
			})
			if err != nil {
				return err
			}
			return unknown(args, found)
		},
	}
}

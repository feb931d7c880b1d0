package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/manage"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/trust"
)

// quarantineTimeout limits how long saving a quarantine may delay a turn.
const quarantineTimeout = 2 * time.Second

// gather finds third-party extensions, asks the user to approve pending ones, and reports those that are not used. The caller discards a set that
// comes with an error.
func gather(ctx context.Context, w *cli.Workspace, o cli.HostOptions) (*extensions.Set, error) {
	set, err := w.Extensions(ctx, o.Plugins, o.Watch)
	if err != nil {
		return nil, err
	}
	if o.Interactive {
		approved, err := askPending(ctx, w.App, set)
		if err == nil && approved {
			if err = set.Discard(ctx); err == nil {
				set, err = w.Extensions(ctx, o.Plugins, o.Watch)
			}
		}
		if err != nil {
			return set, err
		}
	}
	if _, fix, err := set.Required(); err != nil {
		return set, cli.Fail(cli.ExitConfig, err, terminal.Visible(fix))
	}
	leftOut(w.App, set)
	_ = set.Precompile(ctx) // the first call of a plugin returns its error
	set.Meet(ctx, o.Wait, o.Waiting)
	if o.Interactive {
		err = offerSignIn(ctx, w.App, set)
	}
	return set, err
}

// askPending asks the user to approve each pending candidate, and reports whether any was approved. A candidate that cannot be
// approved is reported and skipped, so that it does not prevent other work.
func askPending(ctx context.Context, a *cli.App, set *extensions.Set) (approved bool, err error) {
	for _, c := range set.In(plugins.StatePending) {
		err := manage.Approve(ctx, a, set, c, false, nil)
		var f *cli.Failure
		switch {
		case err == nil:
			approved = true
		case ctx.Err() != nil:
			return approved, ctx.Err()
		case errors.As(err, &f) && f.Code == cli.ExitRefused:
		default:
			a.Log.Warn(fmt.Sprintf("%s %s cannot be approved and is not run: %s", kindText(c.Kind), c.Argument(), err))
		}
	}
	return approved, nil
}

// offerSignIn offers to sign in to the servers that require it. A sign-in that fails is reported, and the session starts without it.
func offerSignIn(ctx context.Context, a *cli.App, set *extensions.Set) error {
	for _, c := range set.Unsigned() {
		yes, err := a.Confirm(fmt.Sprintf("MCP server %s requires sign-in. Sign in now? [y/N] ", c.Name))
		if err != nil {
			return err
		}
		if !yes {
			set.Decline(c)
			a.Say("not signed in; later: tenon mcp login %s", c.Argument())
			continue
		}
		if err := manage.Login(ctx, a, set, c, a.Watch); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			a.Log.Warn("sign-in failed", "server", c.Name, "err", err)
		}
	}
	return nil
}

// maxLeftOut is the maximum number of the project's unused extensions that are named: a repository can have any number.
const maxLeftOut = 10

// leftOut logs extensions that are not used, with the remedy. None of them has run so far.
func leftOut(a *cli.App, set *extensions.Set) {
	for _, w := range set.Warnings {
		a.Log.Warn(w)
	}
	for _, c := range set.In(plugins.StateQuarantined) {
		a.Log.Warn(fmt.Sprintf("%s %s is in quarantine (%s): its gates deny, its hooks with onError stop end the turn, and its other hooks are not called; to enable it, run tenon plugin enable %s",
			kindText(c.Kind), c.Name, c.Reason, c.Argument()))
	}
	more := -maxLeftOut // if negative, the number of the project's that may still be named
	for _, c := range append(set.In(plugins.StatePending), set.In(plugins.StateRejected)...) {
		if c.Project {
			if more++; more > 0 {
				continue
			}
		}
		if c.State == plugins.StateRejected {
			a.Log.Warn(fmt.Sprintf("%s %s is not loaded: %v", kindText(c.Kind), c.Name, c.Err))
			continue
		}
		why := ""
		if c.Reason != "" {
			why = " (" + c.Reason + ")"
		}
		a.Log.Warn(fmt.Sprintf("%s %s is not approved and was skipped%s; approve it: tenon plugin trust %s", kindText(c.Kind), c.Name, why, c.Argument()))
	}
	if more > 0 {
		a.Log.Warn(fmt.Sprintf("%d more of the project are not used; tenon plugin list lists them", more))
	}
}

func kindText(k trust.Kind) string {
	return map[trust.Kind]string{trust.KindPlugin: "plugin", trust.KindServer: "MCP server", trust.KindHooks: "command hooks"}[k]
}

// pluginsOf returns the options of a generation with the plugins of a set. Built-in plugins and servers of the user's own configuration have no
// entry in the lock file, so their quarantine ends with this process.
func (m *wired) pluginsOf(ctx context.Context, set *extensions.Set, required map[string]bool) host.ReloadOptions {
	quarantine := func(plugin, reason string) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), quarantineTimeout)
		defer cancel()
		err := set.Quarantine(ctx, plugin, reason)
		if err != nil && !errors.Is(err, trust.ErrNotFound) {
			m.Workspace.App.Log.Warn("the quarantine could not be saved", "plugin", plugin, "err", err)
		}
	}
	return host.ReloadOptions{
		Plugins: slices.Concat(m.shipped, set.Plugins()), Quarantined: set.Quarantined(), Required: required, Quarantine: quarantine,
	}
}

// keepFailures saves the current series of failures of hooks, so that failures count across runs.
func (m *wired) keepFailures(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), quarantineTimeout)
	defer cancel()
	if err := m.extensions.Load().KeepFailures(ctx, m.Failures()); err != nil {
		m.Workspace.App.Log.Warn("the failures of plugins could not be saved", "err", err)
	}
}

// reloadPlugins reloads the plugins; turns that start later use them. After an error, the old ones stay in use.
func (m *wired) reloadPlugins(ctx context.Context) error {
	m.reloading.Lock()
	defer m.reloading.Unlock()
	return m.reload(ctx)
}

// reload does the work of reloadPlugins. The caller holds m.reloading.
func (m *wired) reload(ctx context.Context) error {
	set, err := m.Workspace.Extensions(ctx, m.Options.Plugins, m.Options.Watch)
	if err != nil {
		return err
	}
	err = set.Reuse(ctx, m.extensions.Load())
	for _, c := range append(set.In(plugins.StateRejected), set.In(plugins.StatePending)...) {
		if err == nil && c.Item != nil && slices.Contains(m.Options.Plugins, c.From) {
			if err = c.Err; err == nil {
				problem := "requests more than you approved"
				if c.Item.Decision.Previous == nil {
					problem = "is not approved"
				}
				err = fmt.Errorf("%s %s: tenon plugin trust %s", c.Name, problem, c.Argument())
			}
		}
	}
	if err == nil {
		err = set.Precompile(ctx)
	}
	required, _, missing := set.Required()
	if err = errors.Join(err, missing); err == nil {
		err = m.Host.Reload(ctx, m.pluginsOf(ctx, set, required))
	}
	if err != nil {
		return errors.Join(err, set.Discard(ctx))
	}
	m.extensions.Store(set)
	m.unloaded = ""
	return nil
}

// refreshPlugins reloads the plugins if the user has approved pending ones, or signed in or out, in another terminal. The next call repeats a
// reload that failed, and returns the same error only after another change. refreshPlugins returns the names of the newly approved plugins.
func (m *wired) refreshPlugins(ctx context.Context) (names []string, err error) {
	m.reloading.Lock()
	defer m.reloading.Unlock()
	last := m.extensions.Load()
	changed, err := last.ApprovalsChanged()
	changed = m.Workspace.CredentialsChanged() || changed
	if err == nil && (changed || m.unloaded != "") {
		err = m.reload(ctx)
	}
	if err != nil && !changed && err.Error() == m.unloaded {
		return nil, nil // reported before
	}
	if err != nil {
		m.unloaded = err.Error()
		return nil, err
	}
	ready := m.extensions.Load().In(plugins.StateReady)
	for _, waited := range last.In(plugins.StatePending) {
		if slices.ContainsFunc(ready, func(c *extensions.Candidate) bool {
			return c.Kind == waited.Kind && c.Name == waited.Name && c.From == waited.From
		}) {
			names = append(names, waited.Name)
		}
	}
	return names, nil
}

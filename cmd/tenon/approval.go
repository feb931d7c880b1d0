package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/manage"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/trust"
)

// quarantineTimeout bounds how long noting a quarantine may hold a turn up.
const quarantineTimeout = 2 * time.Second

// gather finds what third parties bring, asks about what waits for approval when somebody is there to answer, and says what is left
// out otherwise.
func gather(ctx context.Context, w *cli.Workspace, o cli.HostOptions) (*extensions.Set, error) {
	set, err := w.Extensions(ctx, o.Plugins, o.Watch)
	if err != nil {
		return nil, err
	}
	if o.Interactive && len(set.Pending()) > 0 {
		approved, err := askPending(ctx, w.App, set)
		if err != nil || approved {
			err = errors.Join(err, set.Discard(ctx))
		}
		if err != nil {
			return nil, err
		}
		if approved {
			if set, err = w.Extensions(ctx, o.Plugins, o.Watch); err != nil {
				return nil, err
			}
		}
	}
	leftOut(w.App, set)
	if _, err := set.Required(); err != nil {
		return nil, errors.Join(cli.Fail(cli.ExitConfig, err, "tenon plugin list shows its state; or take \"required\" away from it in plugins of tenon.json"), set.Discard(ctx))
	}
	return set, nil
}

// askPending asks about each candidate that waits. It reports whether any was approved. What cannot be shown or approved is named and left
// out: it must not keep anybody from working.
func askPending(ctx context.Context, a *cli.App, set *extensions.Set) (approved bool, err error) {
	for _, c := range set.Pending() {
		err := manage.Approve(ctx, a, set, c, false, nil)
		var f *cli.Failure
		switch {
		case err == nil:
			approved = true
		case ctx.Err() != nil:
			return approved, ctx.Err()
		case errors.As(err, &f) && f.Code == cli.ExitRefused:
		default:
			a.Log.Warn(fmt.Sprintf("%s %s cannot be approved, so it is not run: %s", kindText(c.Kind), terminal.Visible(manage.Argument(c)), terminal.Visible(err.Error())))
		}
	}
	return approved, nil
}

// leftOut says what is not used, and how that can be changed. Nothing of it has run.
func leftOut(a *cli.App, set *extensions.Set) {
	for _, w := range set.Warnings {
		a.Log.Warn(terminal.Visible(w))
	}
	for _, c := range set.Rejected() {
		a.Log.Warn(fmt.Sprintf("%s %s is left out: %s", kindText(c.Kind), terminal.Visible(c.Name), terminal.Visible(c.Err.Error())))
	}
	for _, c := range set.Candidates {
		if c.State == plugins.StateQuarantined {
			a.Log.Warn(fmt.Sprintf("%s %s is in quarantine (%s): its gates deny, its hooks with onError stop end the turn, its other hooks are not called; run tenon plugin enable %s",
				kindText(c.Kind), terminal.Visible(c.Name), terminal.Visible(c.Reason), terminal.Visible(manage.Argument(c))))
		}
	}
	pending := set.Pending()
	if len(pending) == 0 {
		return
	}
	var list []string
	byName, byPath := 0, 0
	for _, c := range pending {
		text := kindText(c.Kind) + " " + terminal.Visible(c.Name)
		if named := manage.Argument(c); named == c.Name {
			byName++
		} else {
			byPath++
			text += " (" + terminal.Visible(named) + ")"
		}
		if c.Reason != "" {
			text += ": " + terminal.Visible(c.Reason)
		}
		list = append(list, text)
	}
	by := "NAME"
	switch {
	case byName == 0:
		by = "PATH"
	case byPath > 0:
		by = "NAME|PATH"
	}
	a.Log.Warn(fmt.Sprintf("not approved, so not run: %s; see each with tenon plugin info %s, approve it with tenon plugin trust %s", strings.Join(list, ", "), by, by))
}

func kindText(k trust.Kind) string {
	switch k {
	case trust.KindServer:
		return "MCP server"
	case trust.KindHooks:
		return "command hooks"
	}
	return "plugin"
}

// quarantine notes that a plugin was quarantined, so that it stays so in the next run. What the user configured himself, and what
// tenon ships, has no entry to note it in: it is quarantined for this run.
func (m *wired) quarantine(ctx context.Context, plugin, reason string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), quarantineTimeout)
	defer cancel()
	err := m.extensions[len(m.extensions)-1].Quarantine(ctx, plugin, reason)
	if err != nil && !errors.Is(err, trust.ErrNotFound) {
		m.Workspace.App.Log.Warn("the quarantine is not remembered", "plugin", plugin, "err", err)
	}
}

// keepFailures notes which hooks failed in a row up to now: one that is called once in a run is counted over runs.
func (m *wired) keepFailures(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), quarantineTimeout)
	defer cancel()
	if err := m.extensions[len(m.extensions)-1].KeepFailures(ctx, m.Failures()); err != nil {
		m.Workspace.App.Log.Warn("failures of plugins are not remembered", "err", err)
	}
}

// reloadPlugins reads the plugins anew and puts them in force from the next turn on. What cannot be used leaves the old ones in force.
func (m *wired) reloadPlugins(ctx context.Context) error {
	set, err := m.Workspace.Extensions(ctx, m.Options.Plugins, m.Options.Watch)
	if err != nil {
		return err
	}
	err = set.Reuse(ctx, m.extensions[len(m.extensions)-1])
	for _, c := range append(set.Rejected(), set.Pending()...) {
		if err == nil && c.Item() != nil && slices.Contains(m.Options.Plugins, c.From) {
			if err = c.Err; err == nil {
				err = fmt.Errorf("%s asks for more than was approved: tenon plugin trust %s", c.Name, manage.Argument(c))
			}
		}
	}
	if err == nil {
		err = set.Precompile(ctx)
	}
	required, missing := set.Required()
	if err = errors.Join(err, missing); err == nil {
		err = m.Host.Reload(ctx, host.ReloadOptions{Plugins: slices.Concat(m.shipped, set.Plugins), Quarantined: set.Quarantined(), Required: required, Strict: true})
	}
	if err != nil {
		return errors.Join(err, set.Close(ctx))
	}
	m.extensions = append(m.extensions, set)
	return nil
}

package cli

import (
	"context"
	"errors"

	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// WithMachine runs f with a host whose plugins are started, for commands that run no turn.
func (a *App) WithMachine(ctx context.Context, f func(w *Workspace, m *Machine) error) error {
	w, err := a.Configured(ctx)
	if err != nil {
		return err
	}
	m, err := w.Open(ctx, HostOptions{})
	if err != nil {
		return err
	}
	return errors.Join(f(w, m), m.Close(ctx))
}

// WithExtensions runs f with everything that was found of third parties; paths are plugins to look at beside those.
func (a *App) WithExtensions(ctx context.Context, paths []string, f func(w *Workspace, s *extensions.Set) error) error {
	w, err := a.Configured(ctx)
	if err != nil {
		return err
	}
	s, err := w.Extensions(ctx, paths, false)
	if err != nil {
		return err
	}
	return errors.Join(f(w, s), s.Discard(ctx))
}

// WithHost runs f with a host and the session that the argument names, without one with the latest.
func (a *App) WithHost(ctx context.Context, args []string, f func(context.Context, *Machine, *sdk.Session) error) (err error) {
	w, err := a.Configured(ctx)
	if err != nil {
		return err
	}
	m, err := w.Open(ctx, HostOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close(context.WithoutCancel(ctx))) }()
	s, err := ArgumentSession(ctx, w, m.Store, args)
	if err != nil {
		return err
	}
	return f(ctx, m, s)
}

// WithStore runs f with the session store, for commands that need neither configuration nor plugins.
func (a *App) WithStore(ctx context.Context, f func(w *Workspace, s store.Store) error) error {
	w, err := a.Place(ctx)
	if err != nil {
		return err
	}
	s, err := w.OpenStore(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(w, s), s.Close())
}

// WithSession runs f with the session that the argument names, without one with the latest.
func (a *App) WithSession(ctx context.Context, args []string, f func(*Workspace, store.Store, *sdk.Session) error) error {
	return a.WithStore(ctx, func(w *Workspace, s store.Store) error {
		info, err := ArgumentSession(ctx, w, s, args)
		if err != nil {
			return err
		}
		return f(w, s, info)
	})
}

// Machine is a host and the store below it.
type Machine struct {
	*host.Host
	Store     store.Store
	Workspace *Workspace
	Options   HostOptions

	// Reload reads the plugins again and puts them in force from the next turn on.
	Reload func(context.Context) error
	// Close closes the host, what its plugins shared, and the store.
	Close func(context.Context) error
}

// HostOptions say how a command uses the host.
type HostOptions struct {
	Interactive bool     // the user answers
	Auto        bool     // what no rule denies is allowed
	Plugins     []string // absolute paths of plugins that the command line names
	Watch       bool     // they are being developed
}

// Open opens the store and starts the host with the plugins that are approved. The caller closes the machine.
func (w *Workspace) Open(ctx context.Context, o HostOptions) (*Machine, error) {
	return w.App.Start(ctx, w, o)
}

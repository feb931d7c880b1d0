package cli

import (
	"context"
	"errors"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// Machine is a running host and its store.
type Machine struct {
	*host.Host
	Store     store.Store
	Workspace *Workspace
	Options   HostOptions

	// Reload loads the plugins again; turns that start later use them.
	Reload func(context.Context) error
	// Close closes the host, the extensions and the store.
	Close func(context.Context) error
}

// HostOptions are the options of a host.
type HostOptions struct {
	Interactive bool     // the user can be asked
	Auto        bool     // allow everything that no rule denies
	Plugins     []string // absolute paths of the plugins on the command line
	Watch       bool     // they are being developed
	// Wait is the longest wait for MCP servers that were never started before; zero does not wait. Waiting is called with their names when
	// it takes a while.
	Wait    time.Duration
	Waiting func(servers []string)
}

// Open opens the store and starts the host with the approved plugins. The caller closes the machine.
func (w *Workspace) Open(ctx context.Context, o HostOptions) (*Machine, error) {
	return w.App.Start(ctx, w, o)
}

// WithMachine runs f with a started host, for commands that run no turn.
func (a *App) WithMachine(ctx context.Context, f func(*Machine) error) error {
	w, err := a.Configured(ctx)
	if err != nil {
		return err
	}
	m, err := w.Open(ctx, HostOptions{})
	if err != nil {
		return err
	}
	return errors.Join(f(m), m.Close(context.WithoutCancel(ctx)))
}

// WithHost runs f with a host and the session named by the argument, by default the latest.
func (a *App) WithHost(ctx context.Context, args []string, f func(context.Context, *Machine, *sdk.Session) error) error {
	return a.WithMachine(ctx, func(m *Machine) error {
		s, err := ArgumentSession(ctx, m.Workspace, m.Store, args)
		if err != nil {
			return err
		}
		return f(ctx, m, s)
	})
}

// WithStore runs f with the session store, without loading configuration or plugins.
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

// WithSession runs f with the session named by the argument, by default the latest.
func (a *App) WithSession(ctx context.Context, args []string, f func(*Workspace, store.Store, *sdk.Session) error) error {
	return a.WithStore(ctx, func(w *Workspace, s store.Store) error {
		info, err := ArgumentSession(ctx, w, s, args)
		if err != nil {
			return err
		}
		return f(w, s, info)
	})
}

// WithExtensions runs f with all third-party extensions. paths are additional plugins.
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

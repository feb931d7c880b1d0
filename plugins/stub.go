package plugins

import (
	"context"
	"log/slog"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// stub replaces a plugin in quarantine. It has the plugin's hooks, so that their failure policies apply, but opens and starts nothing.
// The host knows that it is in quarantine and never calls its hooks.
type stub struct {
	item *Item
	log  *slog.Logger
}

var _ sdk.Hooker = (*stub)(nil)

// Manifest returns the identity of the replaced plugin.
func (s *stub) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: s.item.Name, Version: s.item.Manifest.Version, Carrier: s.item.Carrier}
}

// Start does nothing.
func (s *stub) Start(context.Context, sdk.Host) error { return nil }

// Close does nothing.
func (s *stub) Close(context.Context) error { return nil }

// Hooks returns the hooks that were approved.
func (s *stub) Hooks() []sdk.Hook {
	list := s.item.Request.Hooks
	if s.item.Request.Undescribed {
		list = s.item.Decision.Previous.Request.Hooks
	}
	var out []sdk.Hook
	for _, h := range list {
		d := sdk.HookDescription{
			Point: string(h.Point), Name: h.Name, Reads: h.Reads, Writes: h.Writes, OnError: h.OnError, TimeoutMS: h.TimeoutMS,
			Priority: h.Priority, Before: h.Before, After: h.After,
		}
		hook, err := hookpoint.Hook(&d, "hooks", s)
		if err != nil {
			s.log.Warn("hook of a plugin in quarantine left out", "plugin", s.item.Name, "err", err)
			continue
		}
		out = append(out, hook)
	}
	return out
}

// HandleRemote fails.
func (s *stub) HandleRemote(context.Context, *sdk.RemoteCall) (sdk.Answer, error) {
	return sdk.Answer{}, hooks.ErrQuarantined
}

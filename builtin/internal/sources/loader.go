package sources

import (
	"context"
	"log/slog"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// Loader is the common part of the plugins that contribute text files: T is the result of reading them. The fields are
// set by Start.
type Loader[T any] struct {
	Log     *slog.Logger
	Project sdk.Project
	Config  *sdk.Config // empty if the host has none

	mu     sync.Mutex
	watch  *Watch
	result T
}

// Start stores the host's project and configuration. It reads no files.
func (l *Loader[T]) Start(_ context.Context, h sdk.Host) error {
	l.Log, l.Project, l.Config = h.Logger(), h.Project(), &sdk.Config{}
	if c, ok := h.(sdk.ConfigReader); ok && c.Config() != nil {
		l.Config = c.Config()
	}
	l.watch = NewWatch(l.Project, l.Log)
	return nil
}

// Close does nothing: no work runs between calls.
func (*Loader[T]) Close(context.Context) error { return nil }

// Current returns the result of load, which it calls again only if a file that load looked at has changed. Callers must not
// change the result.
func (l *Loader[T]) Current(load func(*Watch) T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.watch.Fresh() {
		l.watch.Reset()
		l.result = load(l.watch)
	}
	return l.result
}

// SystemHook returns a hook that appends the result of text to the system prompt of turns and subtasks, unless it is empty.
func SystemHook(name string, text func(in *sdk.ChatInput) string) sdk.Hook {
	h := sdk.OnChatSystem(func(_ context.Context, in *sdk.ChatInput, v *sdk.ChatSystemValue) error {
		if in.Purpose != sdk.PurposeTurn && in.Purpose != sdk.PurposeSubtask {
			return nil
		}
		if s := text(in); s != "" {
			v.System = append(v.System, s)
		}
		return nil
	})
	h.Name = name
	h.Reads, h.Writes = []string{"/system"}, []string{"/system"}
	return h
}

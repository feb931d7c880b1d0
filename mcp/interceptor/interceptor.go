// Package interceptor turns the interceptors of an MCP server into hooks. Interceptors are an extension of the protocol that is still a
// draft (SEP-2624, https://github.com/modelcontextprotocol/experimental-ext-interceptors).
//
//	Decode ──► Spec ──► Hooks: a chain per hook point ──► payload ──► Server.Invoke ──► verdict or changes
package interceptor

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Server calls the interceptors of an MCP server.
type Server struct {
	Name   string
	Logger *slog.Logger
	// Invoke calls one interceptor on behalf of a hook. It may be called concurrently.
	Invoke func(ctx context.Context, on *sdk.RemoteCall, in Invocation) (json.RawMessage, error)
}

// Invocation is one call of an interceptor.
type Invocation struct {
	Name, Event, Phase string
	Payload            json.RawMessage
}

// Hooks returns one hook for each hook point with interceptors. Its priority is the lowest of its interceptors.
func Hooks(list []Spec, server *Server) []sdk.Hook {
	var hooks []sdk.Hook
	called := map[string]bool{}
	for _, at := range interceptions() {
		c := &chain{server, at, at.inOrder(list)}
		if len(c.specs) == 0 {
			continue
		}
		for _, i := range c.specs {
			called[i.Name] = true
		}
		hooks = append(hooks, sdk.Hook{
			Point: at.point, Name: "interceptors " + at.event, Reads: at.reads, Writes: at.writes,
			OnError: at.onError(c.mustNotFail()), Priority: c.specs[0].priority(at.phase), Remote: c,
		})
	}
	for _, i := range list {
		if !called[i.Name] {
			server.Logger.Warn("interceptor is never called: tenon has no event of its list", "server", server.Name, "interceptor", visible.Strip(i.Name), "hooks", i.Hooks)
		}
	}
	return hooks
}

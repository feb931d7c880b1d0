package plugins

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tenonhq/tenon/sdk"
)

// errAbility is the answer of a host that has not the ability a plugin asks for.
var errAbility = errors.New("this host cannot do that")

// optionsHost is the host with the options of one plugin. It passes every ability on; one that the host has not, answers with an error.
type optionsHost struct {
	sdk.Host
	options json.RawMessage
}

var (
	_ sdk.ConfigReader   = (*optionsHost)(nil)
	_ sdk.ToolCaller     = (*optionsHost)(nil)
	_ sdk.SessionReader  = (*optionsHost)(nil)
	_ sdk.Asker          = (*optionsHost)(nil)
	_ sdk.UserQuestioner = (*optionsHost)(nil)
	_ sdk.EventSource    = (*optionsHost)(nil)
	_ sdk.Sampler        = (*optionsHost)(nil)
)

// Options returns the plugin's options.
func (h *optionsHost) Options() json.RawMessage { return h.options }

// Config returns the host's configuration; nil when it gives none.
func (h *optionsHost) Config() *sdk.Config {
	if r, ok := h.Host.(sdk.ConfigReader); ok {
		return r.Config()
	}
	return nil
}

// CallTool calls a tool.
func (h *optionsHost) CallTool(ctx context.Context, req sdk.ToolRequest) (*sdk.ToolResult, error) {
	if c, ok := h.Host.(sdk.ToolCaller); ok {
		return c.CallTool(ctx, req)
	}
	return nil, errAbility
}

// SessionMessages returns the messages of a session.
func (h *optionsHost) SessionMessages(ctx context.Context, sessionID string) ([]sdk.MessageWithParts, error) {
	if r, ok := h.Host.(sdk.SessionReader); ok {
		return r.SessionMessages(ctx, sessionID)
	}
	return nil, errAbility
}

// AskPermission asks for leave.
func (h *optionsHost) AskPermission(ctx context.Context, req sdk.PermissionRequest) error {
	if a, ok := h.Host.(sdk.Asker); ok {
		return a.AskPermission(ctx, req)
	}
	return errAbility
}

// AskUser asks the user.
func (h *optionsHost) AskUser(ctx context.Context, sessionID string, questions []sdk.Question) ([][]string, error) {
	if q, ok := h.Host.(sdk.UserQuestioner); ok {
		return q.AskUser(ctx, sessionID, questions)
	}
	return nil, errAbility
}

// Events streams the host's events; nothing comes from a host that has none.
func (h *optionsHost) Events(ctx context.Context, size int) <-chan sdk.Event {
	if s, ok := h.Host.(sdk.EventSource); ok {
		return s.Events(ctx, size)
	}
	none := make(chan sdk.Event)
	close(none)
	return none
}

// Sample asks the user's model.
func (h *optionsHost) Sample(ctx context.Context, req sdk.SampleRequest) (*sdk.SampleResult, error) {
	if s, ok := h.Host.(sdk.Sampler); ok {
		return s.Sample(ctx, req)
	}
	return nil, errAbility
}

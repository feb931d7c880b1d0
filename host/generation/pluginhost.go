package generation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// The default and the maximum number of waiting events of a subscription.
const (
	defaultEvents = 256
	maxEvents     = 1 << 16
)

// pluginHost is the host as one plugin sees it. It does not check grants: plugins/ability does that for third-party plugins, and compiled-in
// plugins may use all operations.
type pluginHost struct {
	plugin  *Plugin
	log     *slog.Logger
	options json.RawMessage
	open    context.Context // ends when the plugin is closed
	end     context.CancelFunc
}

// ErrNoTurn is returned for a request on behalf of a session without a running turn.
var ErrNoTurn = errors.New("no turn runs in the session")

// Turns gives plugins access to sessions and to the turns that run in them.
type Turns interface {
	// Visit runs f on the running turn of a session, on the caller's goroutine, and stores the ledger of the hooks that f calls. The context
	// of f also ends with the turn. The session and the generation are kept until f returns. Errors: ErrNoTurn, errors of f.
	Visit(ctx context.Context, session string, f func(context.Context, Turn) error) error
	// Denies reports whether the rules of the session's turn deny something; false when no turn runs.
	Denies(session, key, pattern string) bool
	// Messages returns the messages of a session since its last compaction. Errors: ErrNotFound.
	Messages(ctx context.Context, session string) ([]sdk.MessageWithParts, error)
}

// Turn is the running turn of a session, for one request of a plugin.
type Turn interface {
	Permit(ctx context.Context, by *Plugin, req sdk.PermissionRequest) error
	Question(ctx context.Context, req sdk.QuestionRequest) ([][]string, error)
	CallTool(ctx context.Context, by *Plugin, req sdk.ToolRequest) (*sdk.ToolResult, error)
	Sample(ctx context.Context, by *Plugin, req sdk.SampleRequest) (*sdk.SampleResult, error)
}

var (
	_ sdk.Host           = (*pluginHost)(nil)
	_ sdk.ConfigReader   = (*pluginHost)(nil)
	_ sdk.RuleReader     = (*pluginHost)(nil)
	_ sdk.ToolCaller     = (*pluginHost)(nil)
	_ sdk.SessionReader  = (*pluginHost)(nil)
	_ sdk.Asker          = (*pluginHost)(nil)
	_ sdk.UserQuestioner = (*pluginHost)(nil)
	_ sdk.EventSource    = (*pluginHost)(nil)
	_ sdk.Sampler        = (*pluginHost)(nil)
)

// Logger returns the plugin's logger.
func (p *pluginHost) Logger() *slog.Logger { return p.log }

// Project returns the project that the host works in.
func (p *pluginHost) Project() sdk.Project { return p.plugin.r.o.Project }

// Options returns the plugin's options, as they were when it was started.
func (p *pluginHost) Options() json.RawMessage { return p.options }

// Config returns the configuration without secrets.
func (p *pluginHost) Config() *sdk.Config { return p.plugin.r.o.PublicConfig }

// Denies reports whether the rules of the session's turn deny something; false when no turn runs.
func (p *pluginHost) Denies(sessionID, key, pattern string) bool {
	return p.plugin.r.turns.Denies(sessionID, key, pattern)
}

// SessionMessages returns the messages of a session since its last compaction. Errors: ErrNotFound.
func (p *pluginHost) SessionMessages(ctx context.Context, sessionID string) ([]sdk.MessageWithParts, error) {
	return p.plugin.r.turns.Messages(ctx, sessionID)
}

// AskPermission requests permission: rules and gates decide, then the user. An answer "always" can cover only the requested patterns.
// Errors: ErrNoTurn, *sdk.Refusal.
func (p *pluginHost) AskPermission(ctx context.Context, req sdk.PermissionRequest) error {
	if req.Permission == "" || len(req.Patterns) == 0 {
		return errors.New("permission request: want a permission and at least one pattern")
	}
	req.Always = slices.DeleteFunc(slices.Clone(req.Always), func(always string) bool { return !slices.Contains(req.Patterns, always) })
	_, err := visit(ctx, p, req.SessionID, func(ctx context.Context, t Turn) (struct{}, error) {
		return struct{}{}, t.Permit(ctx, p.plugin, req)
	})
	return err
}

// AskUser asks the user questions. Errors: ErrNoTurn, sdk.ErrHeadless, *sdk.Refusal.
func (p *pluginHost) AskUser(ctx context.Context, sessionID string, questions []sdk.Question) ([][]string, error) {
	if len(questions) == 0 {
		return nil, errors.New("ask the user: no question")
	}
	return visit(ctx, p, sessionID, func(ctx context.Context, t Turn) ([][]string, error) {
		return t.Question(ctx, sdk.QuestionRequest{SessionID: sessionID, Questions: questions})
	})
}

// Events streams the events from now on, until ctx ends or the plugin or the host is closed. At most size wait (default 256);
// beyond that the oldest are dropped.
func (p *pluginHost) Events(ctx context.Context, size int) <-chan sdk.Event {
	if size <= 0 {
		size = defaultEvents
	}
	s := p.plugin.r.bus.Subscribe(min(size, maxEvents), false)
	forget := context.AfterFunc(p.open, s.Close)
	context.AfterFunc(ctx, func() {
		forget()
		s.Close()
	})
	return s.Events()
}

// CallTool calls a tool on behalf of a session, like any other tool call. The call is in the ledger and published, but not in the
// conversation, because the model did not make it. Errors: ErrNoTurn; *sdk.Refusal; the tool's own.
func (p *pluginHost) CallTool(ctx context.Context, req sdk.ToolRequest) (*sdk.ToolResult, error) {
	return visit(ctx, p, req.SessionID, func(ctx context.Context, t Turn) (*sdk.ToolResult, error) {
		return t.CallTool(ctx, p.plugin, req)
	})
}

// Sample asks the session's model, or its small one, for an answer, once the user gave permission. The session must have a turn that runs; it
// pays for the answer. Errors: ErrNoTurn, *sdk.Refusal, errors of the provider.
func (p *pluginHost) Sample(ctx context.Context, req sdk.SampleRequest) (result *sdk.SampleResult, err error) {
	if err := checkSampleTools(&req); err != nil {
		return nil, fmt.Errorf("ask the model: %w", err)
	}
	if req.Messages, err = sampleMessages(req.Messages); err != nil {
		return nil, fmt.Errorf("ask the model: %w", err)
	}
	return visit(ctx, p, req.SessionID, func(ctx context.Context, t Turn) (*sdk.SampleResult, error) {
		return t.Sample(ctx, p.plugin, req)
	})
}

// visit runs f on the running turn of a session.
func visit[T any](ctx context.Context, p *pluginHost, session string, f func(context.Context, Turn) (T, error)) (result T, err error) {
	switch {
	case ctx.Err() != nil: // else a rule could grant the request, or a question appear
		return result, ctx.Err()
	case session == "":
		return result, fmt.Errorf("%w: the request names no session", ErrNoTurn)
	}
	err = p.plugin.r.turns.Visit(ctx, session, func(ctx context.Context, t Turn) error {
		result, err = f(ctx, t)
		return err
	})
	return result, err
}

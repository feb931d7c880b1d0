package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// Bounds of Events: how many events may wait when the plugin does not say, and when it does.
const (
	defaultEvents = 256
	maxEvents     = 1 << 16
)

// pluginHost is the host as one plugin sees it. What a plugin may ask for, of what it can ask for here, is decided by whoever
// stands between them: a plugin that is compiled in may do what the host does.
type pluginHost struct {
	h        *Host
	manifest sdk.Manifest
	log      *slog.Logger
	options  json.RawMessage
	config   atomic.Pointer[sdk.Config] // without secrets; of the latest generation that has the plugin

	mu    sync.Mutex
	subs  map[*live.Subscription]bool
	ended bool
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

// Project returns where the host works.
func (p *pluginHost) Project() sdk.Project { return p.h.opts.Project }

// Options returns the plugin's options, as they were when it was started.
func (p *pluginHost) Options() json.RawMessage { return p.options }

// Config returns the configuration without secrets.
func (p *pluginHost) Config() *sdk.Config { return p.config.Load() }

// Denies reports whether the rules of the session's turn deny something; false when no turn runs.
func (p *pluginHost) Denies(sessionID, key, pattern string) bool {
	v := p.h.viewOf(sessionID)
	return v != nil && v.turn.rules != nil && v.turn.rules.Decide(key, pattern).Action == sdk.ActionDeny
}

// SessionMessages returns the messages of a session since its last compaction. Errors: ErrNotFound.
func (p *pluginHost) SessionMessages(ctx context.Context, sessionID string) ([]sdk.MessageWithParts, error) {
	if v := p.h.viewOf(sessionID); v != nil {
		return v.turn.c.Snapshot(), nil
	}
	messages, damaged, err := live.Load(ctx, p.h.opts.Store, sessionID)
	p.h.leftOut(damaged)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("session %q: %w", sessionID, ErrNotFound)
	}
	return messages, err
}

// AskPermission asks for leave: rules and gates decide, then the user. An answer "always" can hold for the patterns that are asked
// for, no wider ones. Errors: ErrNoTurn, *sdk.Refusal.
func (p *pluginHost) AskPermission(ctx context.Context, req sdk.PermissionRequest) error {
	if req.Permission == "" || len(req.Patterns) == 0 {
		return errors.New("ask for leave: a request names a permission and at least one pattern")
	}
	req.Always = slices.DeleteFunc(slices.Clone(req.Always), func(always string) bool { return !slices.Contains(req.Patterns, always) })
	return p.visit(ctx, req.SessionID, func(ctx context.Context, v *visit) error {
		req.Agent, req.Metadata = v.turn.agent.Name, askedBy(req.Metadata, "", p.manifest.Name)
		return v.turn.refusedByUser(v.turn.permit(ctx, req, "", p.origin()))
	})
}

// AskUser asks the user questions. Errors: ErrNoTurn, sdk.ErrHeadless, *sdk.Refusal.
func (p *pluginHost) AskUser(ctx context.Context, sessionID string, questions []sdk.Question) (answers [][]string, err error) {
	if len(questions) == 0 {
		return nil, errors.New("ask the user: no question")
	}
	err = p.visit(ctx, sessionID, func(ctx context.Context, v *visit) (err error) {
		answers, err = p.h.question(ctx, v.turn, sdk.QuestionRequest{SessionID: sessionID, Questions: questions})
		return err
	})
	return answers, err
}

// Events streams the events from now on, until ctx ends or the plugin or the host is closed. At most size wait (default 256);
// beyond that the oldest are dropped.
func (p *pluginHost) Events(ctx context.Context, size int) <-chan sdk.Event {
	if size <= 0 {
		size = defaultEvents
	}
	s := p.h.bus.Subscribe(min(size, maxEvents), live.KeepNewest)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		s.Close()
		return s.Events()
	}
	if p.subs == nil {
		p.subs = map[*live.Subscription]bool{}
	}
	p.subs[s] = true
	context.AfterFunc(ctx, func() {
		s.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.subs, s)
	})
	return s.Events()
}

// end ends what the plugin subscribed to: it is closed.
func (p *pluginHost) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for s := range p.subs {
		s.Close()
	}
	p.subs = nil
}

func (p *pluginHost) origin() sdk.Origin {
	return sdk.Origin{Carrier: p.manifest.Carrier, Plugin: p.manifest.Name, Server: p.manifest.Server}
}

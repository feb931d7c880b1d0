package sdktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

var (
	_ sdk.Host           = (*Host)(nil)
	_ sdk.ConfigReader   = (*Host)(nil)
	_ sdk.KeyValue       = (*Host)(nil)
	_ sdk.SecretReader   = (*Host)(nil)
	_ sdk.Fetcher        = (*Host)(nil)
	_ sdk.ToolCaller     = (*Host)(nil)
	_ sdk.SessionReader  = (*Host)(nil)
	_ sdk.Asker          = (*Host)(nil)
	_ sdk.UserQuestioner = (*Host)(nil)
	_ sdk.Sampler        = (*Host)(nil)
	_ sdk.EventSource    = (*Host)(nil)
)

// The methods for the plugin.

// Logger returns a logger whose lines Logs returns.
func (h *Host) Logger() *slog.Logger { return h.log }

// Project returns the project.
func (h *Host) Project() sdk.Project { return h.options.Project }

// Options returns the plugin's options; null if it has none.
func (h *Host) Options() json.RawMessage {
	if len(h.options.Options) == 0 {
		return json.RawMessage("null")
	}
	return h.options.Options
}

// Config returns the configuration.
func (h *Host) Config() *sdk.Config { return h.options.Config }

// Get returns a stored value.
func (h *Host) Get(_ context.Context, key string) ([]byte, bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	value, found := h.values[key]
	return slices.Clone(value), found, nil
}

// Set stores a value.
func (h *Host) Set(_ context.Context, key string, value []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.values[key] = slices.Clone(value)
	return nil
}

// Delete removes a value.
func (h *Host) Delete(_ context.Context, key string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.values, key)
	return nil
}

// Keys lists the keys with the prefix.
func (h *Host) Keys(_ context.Context, prefix string) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	keys := slices.Sorted(maps.Keys(h.values))
	return slices.DeleteFunc(keys, func(k string) bool { return !strings.HasPrefix(k, prefix) }), nil
}

// Secret returns a secret of Options.Secrets; others are not granted.
func (h *Host) Secret(_ context.Context, name string) (string, error) {
	value, ok := h.options.Secrets[name]
	if !ok {
		return "", fmt.Errorf("secret %q: %w", name, sdk.ErrNotGranted)
	}
	return value, nil
}

// Fetch returns the answer of Options.Fetch.
func (h *Host) Fetch(ctx context.Context, req *sdk.FetchRequest) (*sdk.FetchResponse, error) {
	note(h, &h.fetched, *req)
	if h.options.Fetch == nil {
		return nil, fmt.Errorf("fetch %s: %w", req.URL, sdk.ErrNotGranted)
	}
	return h.options.Fetch(ctx, req)
}

// CallTool returns the answer of Options.Tool.
func (h *Host) CallTool(ctx context.Context, req sdk.ToolRequest) (*sdk.ToolResult, error) {
	note(h, &h.called, req)
	if h.options.Tool == nil {
		return nil, fmt.Errorf("tool %s: %w", req.Tool, sdk.ErrNotGranted)
	}
	return h.options.Tool(ctx, req)
}

// SessionMessages returns Options.Messages.
func (h *Host) SessionMessages(context.Context, string) ([]sdk.MessageWithParts, error) {
	return slices.Clone(h.options.Messages), nil
}

// AskPermission returns the answer of Options.Ask.
func (h *Host) AskPermission(_ context.Context, req sdk.PermissionRequest) error {
	note(h, &h.asked, req)
	if h.options.Ask == nil {
		return nil
	}
	return h.options.Ask(req)
}

// AskUser returns the answer of Options.Question.
func (h *Host) AskUser(_ context.Context, _ string, questions []sdk.Question) ([][]string, error) {
	for _, q := range questions {
		note(h, &h.questions, q)
	}
	if h.options.Question == nil {
		return nil, sdk.ErrHeadless
	}
	return h.options.Question(questions)
}

// Sample returns the answer of Options.Sample.
func (h *Host) Sample(ctx context.Context, req sdk.SampleRequest) (*sdk.SampleResult, error) {
	note(h, &h.sampled, req)
	if h.options.Sample == nil {
		return nil, errors.New("sample: no model; set Options.Sample")
	}
	return h.options.Sample(ctx, req)
}

// Events returns a channel for the events of Publish.
func (h *Host) Events(ctx context.Context, size int) <-chan sdk.Event {
	s := guest.NewSubscription(size)
	note(h, &h.subscriptions, s)
	context.AfterFunc(ctx, s.Close)
	return s.Events
}

// Publish sends an event to the plugin's subscriptions. Slow ones lose their oldest event.
func (h *Host) Publish(e sdk.Event) {
	for _, s := range list(h, &h.subscriptions) {
		s.Put(e)
	}
}

// toolHost is the host of one tool call.
type toolHost struct {
	host    *Host
	session string
}

var (
	_ sdk.ToolHost      = (*toolHost)(nil)
	_ sdk.MessageReader = (*toolHost)(nil)
	_ sdk.Questioner    = (*toolHost)(nil)
)

// Progress notes the progress.
func (t *toolHost) Progress(title string, metadata sdk.Object) {
	note(t.host, &t.host.progress, Progress{title, metadata.Clone()})
}

// Ask returns the answer of Options.Ask.
func (t *toolHost) Ask(ctx context.Context, req sdk.PermissionRequest) error {
	return t.host.AskPermission(ctx, req)
}

// Messages returns Options.Messages.
func (t *toolHost) Messages(ctx context.Context) ([]sdk.MessageWithParts, error) {
	return t.host.SessionMessages(ctx, t.session)
}

// Question returns the answer of Options.Question.
func (t *toolHost) Question(ctx context.Context, questions []sdk.Question) ([][]string, error) {
	return t.host.AskUser(ctx, t.session, questions)
}

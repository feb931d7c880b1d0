package sdktest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Options are the data and the answers of a Host. With the zero value, the host has no options for the plugin, stores its values and grants all
// permissions. Its other requests fail.
type Options struct {
	Options json.RawMessage // the plugin's part of the configuration
	Project sdk.Project     // default: the project "global" in /project
	Config  *sdk.Config     // the merged configuration; default: an empty one
	Secrets map[string]string
	// Values are the plugin's stored values at its start.
	Values   map[string][]byte
	Messages []sdk.MessageWithParts // the messages of every session

	// Ask answers permission requests; a *sdk.Refusal refuses. If nil, all are granted.
	Ask func(req sdk.PermissionRequest) error
	// Fetch answers HTTP requests, see Responses. If nil, they fail.
	Fetch func(ctx context.Context, req *sdk.FetchRequest) (*sdk.FetchResponse, error)
	// Tool answers the plugin's calls of tools. If nil, they fail.
	Tool func(ctx context.Context, req sdk.ToolRequest) (*sdk.ToolResult, error)
	// Question answers questions to the user. If nil, they fail with sdk.ErrHeadless.
	Question func(questions []sdk.Question) ([][]string, error)
	// Sample answers requests to the model. If nil, they fail.
	Sample func(ctx context.Context, req sdk.SampleRequest) (*sdk.SampleResult, error)
}

// Log is a line of the plugin's log.
type Log struct {
	Level   slog.Level
	Message string
	Attrs   map[string]any // as decoded from JSON; nil without any
}

// Progress is the progress that a tool call reported.
type Progress struct {
	Title    string
	Metadata sdk.Object
}

// closeTimeout bounds the Close of a plugin.
const closeTimeout = 10 * time.Second

// Host is a host with one plugin. It may be used concurrently. Its lists are in the order of the calls.
type Host struct {
	plugin  sdk.Plugin
	options Options
	log     *slog.Logger

	mu        sync.Mutex // guards the following fields
	logs      []Log
	asked     []sdk.PermissionRequest
	fetched   []sdk.FetchRequest
	called    []sdk.ToolRequest
	sampled   []sdk.SampleRequest
	questions []sdk.Question
	progress  []Progress
	records   []Record
	dropped   []string
	values    map[string][]byte

	subscriptions []*guest.Subscription
}

// New returns a host for the plugin. It does not start the plugin.
func New(p sdk.Plugin, o Options) *Host {
	if o.Project == (sdk.Project{}) {
		o.Project = sdk.Project{
			ID: "global", Directory: "/project", Worktree: "/project", Home: "/home/user",
			ConfigDir: "/home/user/.config/tenon", DataDir: "/home/user/.local/share/tenon",
		}
	}
	o.Config = cmp.Or(o.Config, &sdk.Config{})
	h := &Host{plugin: p, options: o, values: map[string][]byte{}}
	for key, value := range o.Values {
		h.values[key] = slices.Clone(value)
	}
	h.log = guest.NewLogger(func(level slog.Level, message string, attributes json.RawMessage) {
		line := Log{Level: level, Message: message}
		_ = json.Unmarshal(attributes, &line.Attrs) // none
		note(h, &h.logs, line)
	})
	return h
}

// Start starts the plugin on a new host and closes it at the end of the test. If the plugin does not start, the test fails immediately.
func Start(t testing.TB, p sdk.Plugin, o Options) *Host {
	t.Helper()
	h := New(p, o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), closeTimeout)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Errorf("close plugin %s: %v", p.Manifest().Name, err)
		}
	})
	if err := h.Start(t.Context()); err != nil {
		t.Fatalf("start plugin %s: %v", p.Manifest().Name, err)
	}
	return h
}

// Start starts the plugin.
func (h *Host) Start(ctx context.Context) error { return h.plugin.Start(ctx, h) }

// Plugin returns the plugin.
func (h *Host) Plugin() sdk.Plugin { return h.plugin }

// Logs returns the lines of the plugin's log.
func (h *Host) Logs() []Log { return list(h, &h.logs) }

// Asked returns the plugin's permission requests, including those that a tool requires before a call.
func (h *Host) Asked() []sdk.PermissionRequest { return list(h, &h.asked) }

// Fetched returns the HTTP requests.
func (h *Host) Fetched() []sdk.FetchRequest { return list(h, &h.fetched) }

// Called returns the plugin's calls of tools.
func (h *Host) Called() []sdk.ToolRequest { return list(h, &h.called) }

// Sampled returns the requests to the model.
func (h *Host) Sampled() []sdk.SampleRequest { return list(h, &h.sampled) }

// Questions returns the questions to the user.
func (h *Host) Questions() []sdk.Question { return list(h, &h.questions) }

// Progress returns the progress that tool calls reported.
func (h *Host) Progress() []Progress { return list(h, &h.progress) }

// Records returns the calls of hooks by Fire.
func (h *Host) Records() []Record { return list(h, &h.records) }

// Dropped returns the pointers that hooks changed although they are not in Writes. These changes had no effect.
func (h *Host) Dropped() []string { return list(h, &h.dropped) }

// Values returns the plugin's stored values.
func (h *Host) Values() map[string][]byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make(map[string][]byte, len(h.values))
	for key, value := range h.values {
		out[key] = slices.Clone(value)
	}
	return out
}

// Responses returns an Options.Fetch that answers with the responses, one after the other, and then fails.
func Responses(responses ...sdk.FetchResponse) func(context.Context, *sdk.FetchRequest) (*sdk.FetchResponse, error) {
	var mu sync.Mutex
	return func(context.Context, *sdk.FetchRequest) (*sdk.FetchResponse, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(responses) == 0 {
			return nil, errors.New("sdktest: no response left")
		}
		next := responses[0]
		responses = responses[1:]
		return &next, nil
	}
}

func list[T any](h *Host, items *[]T) []T {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(*items)
}

func note[T any](h *Host, items *[]T, item T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*items = append(*items, item)
}

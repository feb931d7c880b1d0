package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer is what the scripted model says to one request.
type answer struct {
	text   string
	think  string
	calls  []toolCall
	finish string
	tokens sdk.Tokens
	err    error         // after the rest was said
	hold   chan struct{} // waits until it is closed, or the request ends, after the rest was said
	begun  chan struct{} // closed once the rest was said
	pace   func()        // called after each event
}

type toolCall struct{ id, tool, args string }

func say(text string) answer { return answer{text: text} }

func call(tool, args string) answer { return answer{calls: []toolCall{{tool: tool, args: args}}} }

func calls(list ...toolCall) answer { return answer{calls: list} }

// model is a scripted model: it answers the requests of a turn in order, those of subagents, titles and
// summaries from lists of their own. It keeps every request.
type model struct {
	t testing.TB

	mu       sync.Mutex
	script   map[sdk.Purpose][]answer
	requests []*sdk.ModelRequest
}

func newModel(t testing.TB, turn ...answer) *model {
	return &model{t: t, script: map[sdk.Purpose][]answer{sdk.PurposeTurn: turn}}
}

func (m *model) on(p sdk.Purpose, list ...answer) *model {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script[p] = append(m.script[p], list...)
	return m
}

// of returns the requests with the purpose.
func (m *model) of(p sdk.Purpose) []*sdk.ModelRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*sdk.ModelRequest
	for _, r := range m.requests {
		if r.Purpose == p {
			out = append(out, r)
		}
	}
	return out
}

func (m *model) take(req *sdk.ModelRequest) answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, req)
	list := m.script[req.Purpose]
	if len(list) == 0 {
		if req.Purpose == sdk.PurposeTitle {
			return say("A title")
		}
		m.t.Errorf("request beyond the script: %s, messages %+v", req.Purpose, req.Messages)
		return answer{err: &sdk.ProviderError{ProviderID: "test", StatusCode: 400, Message: "the script is at its end"}}
	}
	m.script[req.Purpose] = list[1:]
	return list[0]
}

// Stream says what the script has next.
func (m *model) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	a := m.take(req)
	var events []sdk.StreamEvent
	if a.think != "" {
		events = append(events, sdk.StreamEvent{Type: sdk.StreamReasoning, ID: "r", Text: a.think}, sdk.StreamEvent{Type: sdk.StreamReasoning, ID: "r", Metadata: sdk.Object{"signature": "signed"}})
	}
	for _, r := range a.text {
		events = append(events, sdk.StreamEvent{Type: sdk.StreamText, ID: "t", Text: string(r)})
	}
	for i, c := range a.calls {
		id := c.id
		if id == "" {
			id = string(rune('a'+i)) + "-call"
		}
		events = append(events, sdk.StreamEvent{Type: sdk.StreamToolCall, ID: id, CallID: id, Tool: c.tool})
		for piece := range slices.Chunk([]rune(c.args), 1+len(c.args)>>10) {
			events = append(events, sdk.StreamEvent{Type: sdk.StreamToolCall, ID: id, Text: string(piece)})
		}
	}
	for _, e := range events {
		if err := sink(e); err != nil {
			return err
		}
		if a.pace != nil {
			a.pace()
		}
	}
	if a.begun != nil {
		close(a.begun)
	}
	if a.hold != nil {
		select {
		case <-a.hold:
		case <-ctx.Done():
			return &sdk.ProviderError{ProviderID: "test", Cut: true, Err: ctx.Err()}
		}
	}
	if a.err != nil {
		return a.err
	}
	finish := a.finish
	if finish == "" {
		finish = sdk.FinishStop
	}
	return sink(sdk.StreamEvent{Type: sdk.StreamFinish, Reason: finish, Tokens: a.tokens})
}

// tool is a tool of a test.
type tool struct {
	id      string
	schema  string
	prepare func(call *sdk.ToolCall) ([]sdk.PermissionRequest, error)
	run     func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error)
}

func (t *tool) Definition() sdk.ToolDefinition {
	schema := t.schema
	if schema == "" {
		schema = `{"type":"object"}`
	}
	return sdk.ToolDefinition{ID: t.id, Description: "A tool of a test.", Parameters: json.RawMessage(schema)}
}

func (t *tool) Prepare(_ context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	if t.prepare == nil {
		return nil, nil
	}
	return t.prepare(call)
}

func (t *tool) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	return t.run(ctx, call)
}

// echo returns its arguments.
func echo(id string) *tool {
	return &tool{id: id, run: func(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		return &sdk.ToolResult{Title: id, Output: string(call.Args)}, nil
	}}
}

// task is the tool that runs subagents.
func task() *tool {
	return &tool{id: "task", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		var in struct{ Agent, Prompt, Resume, SubagentType, TaskID string }
		var raw map[string]string
		if err := json.Unmarshal(call.Args, &raw); err != nil {
			return nil, err
		}
		in.Agent, in.Prompt, in.Resume = raw["subagent_type"], raw["prompt"], raw["task_id"]
		r, err := call.Host.(sdk.Subtasker).Subtask(ctx, sdk.Subtask{Agent: in.Agent, Description: "a task", Prompt: in.Prompt, Resume: in.Resume})
		if err != nil {
			return nil, err
		}
		return &sdk.ToolResult{Output: r.Text, Metadata: sdk.Object{"sessionID": r.SessionID}}, nil
	}}
}

// plugin is a plugin of a test: whatever is set is contributed.
type plugin struct {
	name     string
	carrier  sdk.Carrier
	hooks    []sdk.Hook
	tools    []sdk.Tool
	agents   []sdk.Agent
	commands []sdk.Command
	model    *model
	client   sdk.ModelClient // in place of model
	limits   sdk.ModelLimit
	cost     sdk.ModelCost
	start    func() error
	host     sdk.Host      // what Start was given
	closed   chan struct{} // closed by Close when it is not nil
}

func (p *plugin) Manifest() sdk.Manifest {
	c := p.carrier
	if c == "" {
		c = sdk.CarrierBuiltin
	}
	return sdk.Manifest{Name: p.name, Version: "1.0.0", Carrier: c}
}

func (p *plugin) Start(_ context.Context, h sdk.Host) error {
	p.host = h
	if p.start != nil {
		return p.start()
	}
	return nil
}

func (p *plugin) Close(context.Context) error {
	if p.closed != nil {
		close(p.closed)
	}
	return nil
}

func (p *plugin) Hooks() []sdk.Hook   { return p.hooks }
func (p *plugin) Tools() []sdk.Tool   { return p.tools }
func (p *plugin) Agents() []sdk.Agent { return p.agents }

func (p *plugin) Commands(context.Context) ([]sdk.Command, error) { return p.commands, nil }

func (p *plugin) Protocols() []sdk.Protocol {
	client := p.client
	if p.model != nil {
		client = p.model
	}
	if client == nil {
		return nil
	}
	return []sdk.Protocol{{Name: "test", Open: func(sdk.ProviderInfo) (sdk.ModelClient, error) { return client, nil }}}
}

func (p *plugin) Providers() []sdk.ProviderInfo {
	if p.model == nil && p.client == nil {
		return nil
	}
	m := sdk.Model{ToolCall: true, Temperature: true, Limit: p.limits, Cost: p.cost}
	return []sdk.ProviderInfo{{ID: "test", Name: "Test", Protocol: "test", Default: "m", Models: map[string]sdk.Model{"m": m}}}
}

// base contributes the model and the agents the host itself asks for.
func base(m *model) *plugin {
	return &plugin{name: "base", model: m, agents: []sdk.Agent{
		{Name: sdk.AgentBuild, Mode: sdk.ModePrimary, Prompt: "You build."},
		{Name: sdk.AgentTitle, Mode: sdk.ModePrimary, Hidden: true, Prompt: "You title."},
		{Name: sdk.AgentCompaction, Mode: sdk.ModePrimary, Hidden: true, Prompt: "You summarize."},
		{Name: "helper", Mode: sdk.ModeSubagent, Prompt: "You help."},
	}}
}

// kit is a host under test.
type kit struct {
	*host.Host
	t     testing.TB
	store store.Store
	dir   string
	opts  host.Options
}

// emptyStore returns the content of a store without sessions. Creating one takes longer than many tests.
var emptyStore = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tenon.db")
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Version: "test"})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// start starts a host on a store of its own. change, when not nil, changes the options.
func start(t testing.TB, change func(*host.Options), plugins ...sdk.Plugin) *kit {
	t.Helper()
	dir := t.TempDir()
	empty, err := emptyStore()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "tenon.db"), empty, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return startIn(t, dir, change, plugins...)
}

// startIn starts a host on the store in dir.
func startIn(t testing.TB, dir string, change func(*host.Options), plugins ...sdk.Plugin) *kit {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "tenon.db"), Version: "test", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{t: t, store: s, dir: dir}
	k.opts = host.Options{
		Config: &sdk.Config{Permission: sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}}, Retry: sdk.RetryConfig{DelayMS: 1}},
		Store:  s, Logger: log, Version: "test", ReloadOptions: host.ReloadOptions{Plugins: plugins},
		Project: sdk.Project{ID: "global", Directory: dir, Worktree: dir, Home: dir, ConfigDir: filepath.Join(dir, "config"), DataDir: filepath.Join(dir, "data")},
	}
	if change != nil {
		change(&k.opts)
	}
	h, err := host.New(t.Context(), k.opts)
	if err != nil {
		t.Fatal(errors.Join(err, s.Close()))
	}
	h.CheckLoop(func(problem string) { t.Error(problem) })
	k.Host = h
	t.Cleanup(k.close)
	return k
}

func (k *kit) close() {
	// The test's own context has ended by now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.t.Context()), 30*time.Second)
	defer cancel()
	if err := errors.Join(k.Close(ctx), k.store.Close()); err != nil {
		k.t.Error(err)
	}
}

// session creates a session.
func (k *kit) session() string {
	k.t.Helper()
	s, err := k.CreateSession(k.t.Context(), host.NewSession{})
	if err != nil {
		k.t.Fatal(err)
	}
	return s.ID
}

// prompt runs a turn in a new session and returns the session and the answer.
func (k *kit) prompt(text string) (string, *sdk.MessageWithParts) {
	k.t.Helper()
	id := k.session()
	m, err := k.Prompt(k.t.Context(), host.PromptInput{SessionID: id, Text: text})
	if err != nil {
		k.t.Fatalf("Prompt(%q) = %v", text, err)
	}
	return id, m
}

// messages returns what is stored of a session.
func (k *kit) messages(session string) []sdk.MessageWithParts {
	k.t.Helper()
	list, err := k.store.Messages(k.t.Context(), session, store.Page{})
	if err != nil {
		k.t.Fatal(err)
	}
	return list
}

// toolParts returns the stored tool calls of a session in order.
func (k *kit) toolParts(session string) []*sdk.ToolPart {
	k.t.Helper()
	var out []*sdk.ToolPart
	for _, m := range k.messages(session) {
		for _, p := range m.Parts {
			if t, ok := p.(*sdk.ToolPart); ok {
				out = append(out, t)
			}
		}
	}
	return out
}

// textOf joins the text parts of a message.
func textOf(m *sdk.MessageWithParts) string {
	var out string
	for _, p := range m.Parts {
		if t, ok := p.(*sdk.TextPart); ok && !t.Ignored {
			out += t.Text
		}
	}
	return out
}

// next returns the next event that match accepts.
func next(t testing.TB, sub *host.Subscription, match func(sdk.Event) bool) sdk.Event {
	t.Helper()
	timeout := time.NewTimer(20 * time.Second)
	defer timeout.Stop()
	for {
		select {
		case e, open := <-sub.Events():
			if !open {
				t.Fatal("the events ended before the one that is waited for")
			}
			if match(e) {
				return e
			}
		case <-timeout.C:
			t.Fatal("the event that is waited for did not come")
		}
	}
}

func ofType(typ string) func(sdk.Event) bool {
	return func(e sdk.Event) bool { return e.Type == typ }
}

// records is a log handler that keeps the messages.
type records struct {
	mu   sync.Mutex
	list []string
}

func (r *records) logger() *slog.Logger { return slog.New(r) }

func (r *records) Enabled(context.Context, slog.Level) bool { return true }
func (r *records) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *records) WithGroup(string) slog.Handler            { return r }

func (r *records) Handle(_ context.Context, rec slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, rec.Message)
	return nil
}

func (r *records) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// has reports whether one message holds all pieces.
func (r *records) has(pieces ...string) bool {
	return slices.ContainsFunc(r.all(), func(line string) bool {
		return !slices.ContainsFunc(pieces, func(p string) bool { return !strings.Contains(line, p) })
	})
}

// shellEnv gives the environment that commands get.
func shellEnv(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	env, err := call.Host.(sdk.Shell).ShellEnv(ctx, call.Directory)
	return &sdk.ToolResult{Output: strings.Join(env, " ")}, err
}

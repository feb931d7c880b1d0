package commandhooks_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/commandhooks"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) {
	_ = os.Setenv("LC_ALL", "C") // with a locale that is not installed, perl and bash print warnings before their errors
	goleak.VerifyTestMain(m)
}

// host is what the plugin gets.
type host struct {
	project sdk.Project
	mu      sync.Mutex
	log     bytes.Buffer
}

func (h *host) Logger() *slog.Logger   { return slog.New(slog.NewTextHandler(h, nil)) }
func (h *host) Project() sdk.Project   { return h.project }
func (*host) Options() json.RawMessage { return nil }

// Write takes what is logged.
func (h *host) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(p)
}

func (h *host) logged() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

// rig is a plugin of one source, in an engine of its own.
type rig struct {
	tb      testing.TB
	host    *host
	plugin  sdk.Plugin
	engine  *hooks.Engine
	ledger  *hooks.Ledger
	dir     string // the project's directory
	mu      sync.Mutex
	notices []sdk.PluginNotice
}

// newRig makes a plugin of the events, such as {"Stop": […]}.
func newRig(tb testing.TB, events string) *rig {
	return newSourceRig(tb, commandhooks.Source{Name: "hooks-test", Where: "tenon.json", Data: []byte(events)})
}

func newSourceRig(tb testing.TB, s commandhooks.Source) *rig {
	tb.Helper()
	plugin, err := commandhooks.New(s)
	if err != nil {
		tb.Fatal(err)
	}
	root := tb.TempDir()
	r := &rig{tb: tb, plugin: plugin, dir: filepath.Join(root, "sub"), ledger: &hooks.Ledger{}}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	r.host = &host{project: sdk.Project{Directory: r.dir, Worktree: root}}
	if err := r.plugin.Start(tb.Context(), r.host); err != nil {
		tb.Fatal(err)
	}
	m := r.plugin.Manifest()
	r.engine, err = hooks.New(hooks.Options{
		Plugins: []hooks.Plugin{{Name: m.Name, Carrier: m.Carrier, Hooks: r.plugin.(sdk.Hooker).Hooks()}},
		Logger:  slog.New(slog.DiscardHandler), Notice: r.notice,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.plugin.Close(tb.Context()); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(r.settle)
	return r
}

// settle waits for the observers.
func (r *rig) settle() {
	if err := r.engine.Close(r.tb.Context()); err != nil && r.tb.Context().Err() == nil {
		r.tb.Error(err)
	}
}

func (r *rig) notice(n sdk.PluginNotice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = append(r.notices, n)
}

// failures returns what the user was told of failures.
func (r *rig) failures() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, n := range r.notices {
		lines = append(lines, n.Hook+": "+n.Message)
	}
	return strings.Join(lines, "\n")
}

// clean fails the test when a hook failed.
func (r *rig) clean() {
	r.tb.Helper()
	if f := r.failures(); f != "" {
		r.tb.Errorf("failures: %s", f)
	}
}

// file returns what a command wrote to a file in the project's directory, "" without one.
func (r *rig) file(name string) string {
	r.tb.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil && !os.IsNotExist(err) {
		r.tb.Fatal(err)
	}
	return string(data)
}

func (r *rig) exists(name string) bool {
	_, err := os.Stat(filepath.Join(r.dir, name))
	return err == nil
}

// await waits until a command has made a file.
func (r *rig) await(name string) {
	r.tb.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for tries := 0; !r.exists(name); tries++ {
		if tries > 6000 {
			r.tb.Fatalf("no command made %s", name)
		}
		<-ticker.C
	}
}

// input decodes the input that a command saved to a file.
func (r *rig) input(name string) map[string]any {
	r.tb.Helper()
	var in map[string]any
	if err := json.Unmarshal([]byte(r.file(name)), &in); err != nil {
		r.tb.Fatalf("input of the command: %v", err)
	}
	return in
}

// shell makes the events of a source with one command.
func shell(tb testing.TB, event, matcher, command string) string {
	tb.Helper()
	out, err := json.Marshal(map[string]any{event: []any{map[string]any{
		"matcher": matcher, "hooks": []any{map[string]any{"type": "command", "command": command}},
	}}})
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

// answer makes a command that saves its input to "in" and answers.
func answer(text string) string {
	return "cat > in; cat <<'EOF'\n" + text + "\nEOF"
}

func bashCall(callID string) *sdk.ToolInput {
	return &sdk.ToolInput{
		Tool: "bash", Origin: sdk.Origin{Carrier: sdk.CarrierBuiltin, Plugin: "shell"}, SessionID: "ses_1", MessageID: "msg_1", CallID: callID,
		Agent: "build", AgentPath: "build",
	}
}

// before fires tool.execute.before and returns the arguments that came of it.
func (r *rig) before(in *sdk.ToolInput, args sdk.Object) (hooks.Result, sdk.Object) {
	r.tb.Helper()
	v := &sdk.ToolBeforeValue{Args: args}
	result, err := r.engine.Transform(r.tb.Context(), sdk.PointToolBefore, hooks.Scope{Ledger: r.ledger}, in, v)
	if err != nil {
		r.tb.Fatal(err)
	}
	return result, v.Args
}

// ask fires permission.ask.
func (r *rig) ask(req *sdk.PermissionRequest) hooks.Result {
	r.tb.Helper()
	result, err := r.engine.Gate(r.tb.Context(), sdk.PointPermissionAsk, hooks.Scope{Ledger: r.ledger}, req)
	if err != nil {
		r.tb.Fatal(err)
	}
	return result
}

// request is what a call asks leave for.
func request(in *sdk.ToolInput, permission, args string) *sdk.PermissionRequest {
	return &sdk.PermissionRequest{
		SessionID: in.SessionID, Permission: permission, Patterns: []string{"ls"}, Agent: in.Agent, Args: json.RawMessage(args),
		Tool: &sdk.CallRef{MessageID: in.MessageID, CallID: in.CallID, ID: in.Tool, Origin: in.Origin},
	}
}

// after fires tool.execute.after and returns the output that came of it.
func (r *rig) after(in *sdk.ToolInput, outcome sdk.Outcome, output string) string {
	r.tb.Helper()
	return r.afterWith(in, outcome, &sdk.ToolAfterValue{Output: output})
}

func (r *rig) afterWith(in *sdk.ToolInput, outcome sdk.Outcome, v *sdk.ToolAfterValue) string {
	r.tb.Helper()
	ai := &sdk.ToolAfterInput{ToolInput: *in, Args: json.RawMessage(`{"command":"ls"}`), Outcome: outcome}
	if _, err := r.engine.Transform(r.tb.Context(), sdk.PointToolAfter, hooks.Scope{Ledger: r.ledger}, ai, v); err != nil {
		r.tb.Fatal(err)
	}
	return v.Output
}

// prompt fires chat.message and returns the texts that came of it.
func (r *rig) prompt(session string, texts ...string) []string {
	r.tb.Helper()
	v := &sdk.ChatMessageValue{Message: &sdk.UserMessage{}}
	for _, text := range texts {
		v.Parts = append(v.Parts, &sdk.TextPart{Text: text})
	}
	in := &sdk.ChatMessageInput{SessionID: session, MessageID: "msg_1", Agent: "build"}
	if _, err := r.engine.Transform(r.tb.Context(), sdk.PointChatMessage, hooks.Scope{Ledger: r.ledger}, in, v); err != nil {
		r.tb.Fatal(err)
	}
	var out []string
	for _, p := range v.Parts {
		t := p.(*sdk.TextPart)
		if t.Synthetic {
			out = append(out, "+"+t.Text)
			continue
		}
		out = append(out, t.Text)
	}
	return out
}

// start fires session.start.
func (r *rig) start(s sdk.Session) {
	r.engine.Observe(sdk.PointSessionStart, &sdk.SessionInput{SessionID: s.ID, Session: s})
}

// stop fires turn.stop.
func (r *rig) stop(session, agent string) hooks.Result {
	r.tb.Helper()
	in := &sdk.TurnStopInput{SessionID: session, Message: &sdk.AssistantMessage{Agent: agent}, Text: "done", Continued: 1}
	result, err := r.engine.Gate(r.tb.Context(), sdk.PointTurnStop, hooks.Scope{Ledger: r.ledger}, in)
	if err != nil {
		r.tb.Fatal(err)
	}
	return result
}

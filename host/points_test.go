package host_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// recorder hooks every point and notes each call: point and, where the point has one, purpose or agent.
type recorder struct {
	mu    sync.Mutex
	calls map[string]int
}

func (r *recorder) note(p sdk.Point, where string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[string(p)+" "+where]++
}

func (r *recorder) count(p sdk.Point, where string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[string(p)+" "+where]
}

func (r *recorder) fired(p sdk.Point) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for call := range r.calls {
		if strings.HasPrefix(call, string(p)+" ") {
			return true
		}
	}
	return false
}

// hooks returns one hook for each point.
func (r *recorder) hooks() []sdk.Hook {
	var list []sdk.Hook
	for _, p := range hookpoint.All() {
		list = append(list, sdk.Hook{Point: p.Point, Reads: []string{""}, Writes: []string{""}, Handler: r})
	}
	return list
}

// Handle notes a call.
func (r *recorder) Handle(_ context.Context, call *sdk.HookCall) (sdk.Answer, error) {
	where := ""
	switch in := call.Input.(type) {
	case *sdk.SessionInput:
		if call.Point == sdk.PointSessionStart {
			where = in.Session.Agent
		}
	case *sdk.ChatMessageInput:
		where = in.Agent
		call.Value.(*sdk.ChatMessageValue).Message.Agent = "another" // changes nothing
	case *sdk.CommandInput:
		where = in.Command
	case *sdk.ChatInput:
		where = string(in.Purpose)
	case *sdk.ToolDefinitionInput:
		where = string(in.Origin.Carrier)
	case *sdk.ToolInput:
		where = in.AgentPath + " " + in.Tool
	case *sdk.ToolAfterInput:
		where = in.AgentPath + " " + in.Tool + " " + string(in.Outcome)
	case *sdk.PermissionRequest:
		where = in.Agent + " " + in.Permission
	case *sdk.TurnStopInput:
		where = in.Message.Agent
	case *sdk.CompactingInput:
		if call.Value.(*sdk.CompactingValue).Context == nil {
			where = "the context is null, want a list"
		}
	}
	r.note(call.Point, where)
	return sdk.Answer{}, nil
}

// TestEveryPointFires runs one session through every path of the loop, headless, and checks that each
// point fires on each path it belongs to, and how often.
func TestEveryPointFires(t *testing.T) {
	t.Parallel()
	r := &recorder{calls: map[string]int{}}
	m := newModel(t,
		calls(toolCall{tool: "task", args: `{"subagent_type":"helper","prompt":"help"}`}, toolCall{tool: "shell", args: `{}`}),
		answer{calls: []toolCall{{tool: "remote", args: `{}`}}, tokens: sdk.Tokens{Input: 90_000}},
		say("done"), say("from the command"),
	).on(sdk.PurposeSubtask, call("shell", `{}`), say("helped")).on(sdk.PurposeCompaction, say("the summary"))
	shell := &tool{id: "shell",
		prepare: func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
			return []sdk.PermissionRequest{{Permission: "bash", Patterns: []string{"true"}}}, nil
		},
		run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
			_, err := call.Host.(sdk.Shell).ShellEnv(ctx, call.Directory)
			return &sdk.ToolResult{Output: "ok"}, err
		},
	}
	b := base(m)
	b.limits = sdk.ModelLimit{Context: 100_000, Output: 10_000}
	b.tools = []sdk.Tool{task(), shell}
	b.commands = []sdk.Command{{Name: "greet", Template: "Greet $1"}}
	k := start(t, nil, b,
		&plugin{name: "remote", carrier: sdk.CarrierMCP, tools: []sdk.Tool{echo("remote")}},
		&plugin{name: "recorder", hooks: r.hooks()},
	)
	id, _ := k.prompt("go")
	if u := k.messages(id)[0].Info.(*sdk.UserMessage); u.Agent != "build" {
		t.Errorf("a hook changed the agent of a message to %q", u.Agent)
	}
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Command: "greet", Text: "me"}); err != nil {
		t.Fatal(err)
	}
	k.close()

	wants := []struct {
		point sdk.Point
		where string
		count int
	}{
		{sdk.PointConfig, "", 1},
		{sdk.PointSessionStart, "", 1}, {sdk.PointSessionStart, "helper", 1}, {sdk.PointSessionEnd, "", 2},
		{sdk.PointChatMessage, "build", 2}, {sdk.PointChatMessage, "helper", 1},
		{sdk.PointCommand, "greet", 1},
		{sdk.PointSmallModel, "", 1},
		{sdk.PointToolBefore, "build task", 1}, {sdk.PointToolBefore, "build shell", 1}, {sdk.PointToolBefore, "build remote", 1}, {sdk.PointToolBefore, "build/helper shell", 1},
		{sdk.PointToolAfter, "build task ok", 1}, {sdk.PointToolAfter, "build shell ok", 1}, {sdk.PointToolAfter, "build remote ok", 1}, {sdk.PointToolAfter, "build/helper shell ok", 1},
		{sdk.PointPermissionAsk, "build bash", 1}, {sdk.PointPermissionAsk, "helper bash", 1},
		{sdk.PointShellEnv, "", 2},
		{sdk.PointCompacting, "", 1}, {sdk.PointAutocontinue, "", 1},
		{sdk.PointTurnStop, "build", 2}, {sdk.PointTurnStop, "helper", 1},
		{sdk.PointTextComplete, "", 4}, // two answers, the subagent's, the summary
		{sdk.PointToolDefinition, "builtin", 2*4 + 1*2}, {sdk.PointToolDefinition, "mcp", 4 + 2},
	}
	for _, p := range []sdk.Point{sdk.PointChatMessages, sdk.PointChatSystem, sdk.PointChatParams, sdk.PointChatHeaders} {
		for purpose, n := range map[sdk.Purpose]int{sdk.PurposeTurn: 4, sdk.PurposeSubtask: 2, sdk.PurposeTitle: 1, sdk.PurposeCompaction: 1} {
			wants = append(wants, struct {
				point sdk.Point
				where string
				count int
			}{p, string(purpose), n})
		}
	}
	for _, w := range wants {
		if got := r.count(w.point, w.where); got != w.count {
			t.Errorf("%s %q fired %d times, want %d", w.point, w.where, got, w.count)
		}
	}
	if r.count(sdk.PointEvent, "") == 0 {
		t.Error("the observer of events received nothing")
	}
	for _, p := range hookpoint.All() {
		if !r.fired(p.Point) {
			t.Errorf("%s did not fire; let the session above reach it", p.Point)
		}
	}
}

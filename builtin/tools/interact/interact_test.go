package interact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/tools/interact"
	"github.com/tenonhq/tenon/sdk"
)

// fake is a host that records what it was asked for.
type fake struct {
	todos     []sdk.Todo
	task      sdk.Subtask
	questions []sdk.Question
	skills    []sdk.Skill
	answers   [][]string
	err       error
	answer    string // of a subtask
}

func (*fake) Progress(string, sdk.Object)                          {}
func (*fake) Ask(context.Context, sdk.PermissionRequest) error     { return nil }
func (f *fake) SetTodos(_ context.Context, todos []sdk.Todo) error { f.todos = todos; return f.err }
func (f *fake) Skills(context.Context) ([]sdk.Skill, error)        { return f.skills, f.err }
func (f *fake) Subagents() []sdk.Agent                             { return nil }
func (f *fake) Subtask(_ context.Context, task sdk.Subtask) (*sdk.SubtaskResult, error) {
	f.task = task
	return &sdk.SubtaskResult{SessionID: "ses_1", Text: f.answer}, f.err
}

func (f *fake) Question(_ context.Context, questions []sdk.Question) ([][]string, error) {
	f.questions = questions
	return f.answers, f.err
}

func tool(t *testing.T, id string) sdk.Tool {
	t.Helper()
	for _, tool := range interact.New().(sdk.ToolSource).Tools() {
		if tool.Definition().ID == id {
			return tool
		}
	}
	t.Fatalf("no tool %q", id)
	return nil
}

func run(t *testing.T, host sdk.ToolHost, id, args string) (*sdk.ToolResult, error) {
	t.Helper()
	return tool(t, id).Execute(t.Context(), &sdk.ToolCall{Tool: id, Args: json.RawMessage(args), Host: host})
}

func TestTodowrite(t *testing.T) {
	t.Parallel()
	host := &fake{}
	result, err := run(t, host, "todowrite", `{"todos":[{"content":"a","status":"completed","priority":"high"},{"content":"b","status":"pending"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []sdk.Todo{{Content: "a", Status: "completed", Priority: "high"}, {Content: "b", Status: "pending", Priority: "medium"}}
	if diff := cmp.Diff(want, host.todos); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if result.Title != "1 open" {
		t.Errorf("title %q", result.Title)
	}
	if result, err := run(t, host, "todowrite", `{"todos":[]}`); err != nil || result.Output != "0 open, 0 in all" || len(host.todos) != 0 {
		t.Errorf("emptied: %+v, %v, stored %v", result, err, host.todos)
	}
}

func TestTask(t *testing.T) {
	t.Parallel()
	host := &fake{answer: "found it"}
	result, err := run(t, host, "task", `{"description":"look","prompt":"find x","subagent_type":"explore","task_id":"ses_0","command":"review"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := sdk.Subtask{Agent: "explore", Description: "look", Prompt: "find x", Command: "review", Resume: "ses_0"}
	if diff := cmp.Diff(want, host.task); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	if result.Output != "<task id=\"ses_1\" state=\"completed\">\nfound it\n</task>" {
		t.Errorf("output %q", result.Output)
	}
	host.answer = "\n"
	if result, err := run(t, host, "task", `{"description":"d","prompt":"p","subagent_type":"x"}`); err != nil || !strings.Contains(result.Output, "without an answer") {
		t.Errorf("no answer: %+v, %v", result, err)
	}
	host.err = &sdk.Refusal{Halt: true, Reason: "stop"}
	var refusal *sdk.Refusal
	if _, err := run(t, host, "task", `{"description":"d","prompt":"p","subagent_type":"x"}`); !errors.As(err, &refusal) || !refusal.Halt {
		t.Errorf("a refusal became %v", err)
	}
}

func TestSkill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 15 {
		path := filepath.Join(dir, "scripts", fmt.Sprintf("%02d.sh", i))
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	host := &fake{skills: []sdk.Skill{{Name: "other"}, {Name: "by-hand", Manual: true}, {Name: "deploy", Location: filepath.Join(dir, "SKILL.md"), Body: "Do this with ${CLAUDE_SKILL_DIR}/x."}}}
	result, err := run(t, host, "skill", `{"name":"deploy"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Do this with " + dir + "/x.", "Base directory: " + dir, "scripts/00.sh", "scripts/09.sh"} {
		if !strings.Contains(result.Output, want) {
			t.Errorf("output misses %q:\n%s", want, result.Output)
		}
	}
	if strings.Contains(result.Output, "10.sh") {
		t.Error("more than 10 files are listed")
	}
	if _, err := run(t, host, "skill", `{"name":"none"}`); err == nil || !strings.Contains(err.Error(), "skills are: deploy, other, tenon") {
		t.Errorf("unknown skill: %v", err)
	}
	for name, want := range map[string]string{"tenon": "permissions-by-example", "tenon/hooks": "# Hook reference", "tenon/none": "", "tenon/": "", "hooks": ""} {
		result, err := run(t, host, "skill", fmt.Sprintf(`{"name":%q}`, name))
		if (err == nil) != (want != "") || err == nil && !strings.Contains(result.Output, want) {
			t.Errorf("the manual, %q: %+v, %v", name, result, err)
		}
	}
	host.skills = append(host.skills, sdk.Skill{Name: "tenon", Body: "Ours.", Location: filepath.Join(dir, "tenon", "SKILL.md")})
	ofProject := &sdk.ToolCall{Args: json.RawMessage(`{"name":"tenon"}`), Host: host, Worktree: dir}
	if result, err := tool(t, "skill").Execute(t.Context(), ofProject); err != nil || strings.Contains(result.Output, "Ours.") {
		t.Errorf("a project's skill tenon: %+v, %v", result, err)
	}
	if result, err := run(t, host, "skill", `{"name":"tenon"}`); err != nil || !strings.Contains(result.Output, "Ours.") {
		t.Errorf("the user's skill tenon: %+v, %v", result, err)
	}
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	const args = `{"questions":[{"question":"Which?","header":"h","options":[{"label":"a","description":"b"}]},{"question":"And?","header":"h","options":[]}]}`
	host := &fake{answers: [][]string{{"a", "c"}, {}}}
	result, err := run(t, host, "question", args)
	if err != nil {
		t.Fatal(err)
	}
	if want := "The user answered:\nWhich?\n-> a, c\nAnd?\n-> not answered"; result.Output != want {
		t.Errorf("output %q, want %q", result.Output, want)
	}
	host.err = sdk.ErrHeadless
	if _, err := run(t, host, "question", args); !errors.Is(err, sdk.ErrHeadless) || !strings.Contains(err.Error(), "no user to ask") {
		t.Errorf("headless: %v", err)
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, args string
		want       sdk.PermissionRequest
		err        string
	}{
		"task":      {"task", `{"description":"d","prompt":"p","subagent_type":"explore"}`, sdk.PermissionRequest{Permission: "task", Patterns: []string{"explore"}, Always: []string{"*"}}, ""},
		"no prompt": {"task", `{"description":"d","prompt":" ","subagent_type":"explore"}`, sdk.PermissionRequest{}, "prompt is empty"},
		"no agent":  {"task", `{"description":"d","prompt":"p","subagent_type":""}`, sdk.PermissionRequest{}, "subagent_type is empty"},
		"skill":     {"skill", `{"name":"x"}`, sdk.PermissionRequest{Permission: "skill", Patterns: []string{"x"}, Always: []string{"x"}}, ""},
	} {
		got, err := tool(t, c.tool).(sdk.ToolPreparer).Prepare(t.Context(), &sdk.ToolCall{Tool: c.tool, Args: json.RawMessage(c.args)})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: Prepare = %v, want an error with %q", name, err, c.err)
			}
			continue
		}
		if err != nil || len(got) != 1 {
			t.Errorf("%s: Prepare = %v, %v", name, got, err)
			continue
		}
		got[0].Metadata = nil
		if diff := cmp.Diff(c.want, got[0]); diff != "" {
			t.Errorf("%s: Prepare (-want +got):\n%s", name, diff)
		}
	}
}

func TestHostWithoutAbilities(t *testing.T) {
	t.Parallel()
	bare := struct{ sdk.ToolHost }{}
	for id, args := range map[string]string{
		"todowrite": `{"todos":[]}`, "task": `{"description":"d","prompt":"p","subagent_type":"a"}`, "skill": `{"name":"a"}`,
		"question": `{"questions":[{"question":"q","header":"h","options":[]}]}`,
	} {
		if _, err := run(t, bare, id, args); err == nil || !strings.Contains(err.Error(), "not supported by this host (sdk.") {
			t.Errorf("%s: %v, want an error that names the ability", id, err)
		}
	}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	for _, tool := range interact.New().(sdk.ToolSource).Tools() {
		d := tool.Definition()
		if !json.Valid(d.Parameters) {
			t.Errorf("%s: the schema is not JSON", d.ID)
		}
		if size := len(d.Description) + len(d.Parameters); size > 900 {
			t.Errorf("%s: %d bytes in every request, want at most 900", d.ID, size)
		}
	}
}

// The files of a skill are not listed through a folder that became a link out of the project.
func TestSkillFolderOutside(t *testing.T) {
	t.Parallel()
	outside, project := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "private.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(project, "skill")); err != nil {
		t.Skip(err)
	}
	host := &fake{skills: []sdk.Skill{{Name: "deploy", Location: filepath.Join(project, "skill", "SKILL.md"), Body: "Do this."}}}
	call := &sdk.ToolCall{Tool: "skill", Args: []byte(`{"name": "deploy"}`), Directory: project, Worktree: project, Host: host}
	if result, err := tool(t, "skill").Execute(t.Context(), call); err != nil || strings.Contains(result.Output, "private.txt") {
		t.Errorf("Execute = %+v, %v", result, err)
	}
}

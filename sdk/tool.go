package sdk

import (
	"context"
	"encoding/json"
	"time"
)

// ToolDefinition describes a tool to the model.
type ToolDefinition struct {
	ID          string          `json:"id"` // 1 to 64 of A-Z a-z 0-9 _ -
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // a JSON schema of type object
}

// Tool is a function that the model can call. Its methods may be called concurrently.
type Tool interface {
	// Definition is called at every step and must not block.
	Definition() ToolDefinition
	// Execute runs the call. The arguments match the schema, and the call is permitted. An error is sent to the model as the result.
	// When ctx ends, Execute returns soon and leaves nothing running.
	Execute(ctx context.Context, call *ToolCall) (*ToolResult, error)
}

// ToolPreparer is implemented by tools that require other permissions than their own id with the pattern *.
type ToolPreparer interface {
	// Prepare checks the call and returns the permissions it requires, in the order to ask; none if the list is empty. It has no side
	// effects. An error refuses the call and is sent to the model.
	Prepare(ctx context.Context, call *ToolCall) ([]PermissionRequest, error)
}

// ToolPermission is implemented by tools whose permission key is not their id. For example, the key of write is edit.
type ToolPermission interface {
	Permission() string
}

// ToolAvailability is implemented by tools that are not offered to every model and agent.
type ToolAvailability interface {
	Available(model *Model, agent *Agent) bool
}

// DefaultToolTimeout bounds one call of a plugin's tool. Built-in tools have their own limits.
const DefaultToolTimeout = 120 * time.Second

// ToolDeadline is implemented by tools with another time limit than DefaultToolTimeout: a shorter one of the tool, or a longer one that the
// user configured.
type ToolDeadline interface {
	Deadline() time.Duration
}

// ToolCall is one call of a tool.
type ToolCall struct {
	Tool      string          `json:"tool"`
	CallID    string          `json:"callID"`
	SessionID string          `json:"sessionID"`
	MessageID string          `json:"messageID"`
	Agent     string          `json:"agent"`
	Args      json.RawMessage `json:"args"`      // an object that matches the tool's schema
	Directory string          `json:"directory"` // directory of the session, absolute
	Worktree  string          `json:"worktree"`  // root of the project, absolute
	// Host calls the host. It may be used while the call runs.
	Host ToolHost `json:"-"`
	// Prepared belongs to the tool. Prepare stores a value for Execute of the same call, such as the files that permission was requested
	// for. Only tools that are compiled in have it. Nil if Prepare stored nothing or was not called.
	Prepared any `json:"-"`
}

// ToolHost is the host as every tool call sees it. Further abilities are the interfaces below. A tool asserts the one it needs and, if the
// host does not have it, returns an error that names it.
type ToolHost interface {
	// Progress shows the state of the call to the user. metadata replaces the metadata shown before. It does not block.
	Progress(title string, metadata Object)
	// Ask waits for permission. Nil means granted. A refusal is a *Refusal.
	Ask(ctx context.Context, req PermissionRequest) error
}

// MessageReader returns the messages of the call's session, oldest first. They must not be changed.
type MessageReader interface {
	Messages(ctx context.Context) ([]MessageWithParts, error)
}

// OutputReader returns the full text of an output that was too large for the conversation, by the reference in its preview.
type OutputReader interface {
	Output(ctx context.Context, ref string) ([]byte, error)
}

// Shell returns the environment for a command, in the form of os.Environ: the host's own without the keys of providers, changed by the hooks
// at shell.env.
type Shell interface {
	ShellEnv(ctx context.Context, cwd string) ([]string, error)
}

// Questioner asks the user. The answers are in the order of the questions; each lists the chosen labels or the free text. Errors:
// ErrHeadless without a user to ask, *Refusal if the user dismissed the question.
type Questioner interface {
	Question(ctx context.Context, questions []Question) ([][]string, error)
}

// Denier reports whether a rule of the session denies something by name, by a pattern other than *, or tenon does. Only tools that are compiled in have it.
type Denier interface {
	DeniesByName(permission, pattern string) bool
}

// TodoKeeper replaces the task list of the session.
type TodoKeeper interface {
	SetTodos(ctx context.Context, todos []Todo) error
}

// Subtask requests the run of a subagent.
type Subtask struct {
	Agent       string
	Description string
	Prompt      string
	Command     string
	Resume      string // session of an earlier subtask to continue
}

// SubtaskResult is the answer of a subagent and its session.
type SubtaskResult struct {
	SessionID string
	Text      string
}

// Subtasker runs subagents and waits for their answers. It may be called concurrently.
type Subtasker interface {
	Subtask(ctx context.Context, task Subtask) (*SubtaskResult, error)
	// Subagents returns the agents that Subtask can run.
	Subagents() []Agent
}

// SkillFinder returns the skills that can be loaded.
type SkillFinder interface {
	Skills(ctx context.Context) ([]Skill, error)
}

// ToolResult is the result of a call. Output is sent to the model, Title and Metadata are shown to the user.
type ToolResult struct {
	Title       string      `json:"title"`
	Output      string      `json:"output"`
	Metadata    Object      `json:"metadata,omitempty"`
	Attachments []*FilePart `json:"attachments,omitempty"` // images, PDFs and other media for the model; put text in Output
	// KeepTail keeps the end of an output that is too large, not its beginning.
	KeepTail bool `json:"keepTail,omitempty"`
}

// Origin is the owner of a tool.
type Origin struct {
	Carrier Carrier `json:"carrier"`
	Plugin  string  `json:"plugin"`
	Server  string  `json:"server,omitempty"` // the MCP server
}

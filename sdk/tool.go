package sdk

import (
	"context"
	"encoding/json"
)

// ToolDefinition is what the model gets to know of a tool.
type ToolDefinition struct {
	ID          string          `json:"id"` // [A-Za-z0-9_-], at most 64
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // a JSON schema of type object
}

// Tool is something the model can call. Safe for use from many goroutines.
type Tool interface {
	// Definition is called at every step and must not block.
	Definition() ToolDefinition
	// Execute runs the call. The arguments met the schema and were permitted. An error goes to the model
	// as the call's result. When ctx ends it returns soon and leaves nothing running.
	Execute(ctx context.Context, call *ToolCall) (*ToolResult, error)
}

// ToolPreparer is implemented by tools that need leave for something other than their own id with the
// pattern *.
type ToolPreparer interface {
	// Prepare checks the call and says what it needs leave for, in the order to ask; an empty list needs
	// none. It changes nothing. An error refuses the call and goes to the model.
	Prepare(ctx context.Context, call *ToolCall) ([]PermissionRequest, error)
}

// ToolPermission is implemented by tools whose permission key is not their id (write asks for edit).
type ToolPermission interface {
	Permission() string
}

// ToolAvailability is implemented by tools that some models or agents do not get.
type ToolAvailability interface {
	Available(model *Model, agent *Agent) bool
}

// ToolCall is one call of a tool.
type ToolCall struct {
	Tool      string          `json:"tool"`
	CallID    string          `json:"callID"`
	SessionID string          `json:"sessionID"`
	MessageID string          `json:"messageID"`
	Agent     string          `json:"agent"`
	Args      json.RawMessage `json:"args"`      // an object that meets the tool's schema
	Directory string          `json:"directory"` // where the session works, absolute
	Worktree  string          `json:"worktree"`  // the root of the project, absolute
	// Host is the call's way back to the host, for as long as the call runs.
	Host ToolHost `json:"-"`
	// Prepared belongs to the tool: what Prepare stores here, Execute of the same call finds, such as the files that permission
	// was requested for. Only tools that are compiled in get it; nil if Prepare stored nothing or was not called.
	Prepared any `json:"-"`
}

// ToolHost is what every call can ask of the host. Further abilities are the interfaces below; a tool
// asserts the one it needs and returns an error that names it when the host has it not.
type ToolHost interface {
	// Progress shows what the call does now. Metadata replaces what was shown before. It does not block.
	Progress(title string, metadata Object)
	// Ask waits for leave; nil means granted. A refusal is a *Refusal.
	Ask(ctx context.Context, req PermissionRequest) error
}

// MessageReader gives a call the messages of its session, oldest first. They must not be changed.
type MessageReader interface {
	Messages(ctx context.Context) ([]MessageWithParts, error)
}

// OutputReader gives a call the full text of an output that was too large for the conversation, by the
// reference its preview names.
type OutputReader interface {
	Output(ctx context.Context, ref string) ([]byte, error)
}

// Shell gives a call the environment for a command it runs, in the form of os.Environ: the host's own
// without the keys of providers, changed by the hooks at shell.env.
type Shell interface {
	ShellEnv(ctx context.Context, cwd string) ([]string, error)
}

// Questioner asks the user. The answers are in the order of the questions; each lists the labels chosen
// or the free text. ErrHeadless when nobody is there, *Refusal when the user dismissed the question.
type Questioner interface {
	Question(ctx context.Context, questions []Question) ([][]string, error)
}

// TodoKeeper keeps the task list of the session.
type TodoKeeper interface {
	SetTodos(ctx context.Context, todos []Todo) error
}

// Subtask asks for the run of a subagent.
type Subtask struct {
	Agent       string
	Description string
	Prompt      string
	Command     string
	Resume      string // the session of an earlier subtask to go on with
}

// SubtaskResult is what a subagent answered, in which session.
type SubtaskResult struct {
	SessionID string
	Text      string
}

// Subtasker runs subagents. It waits for the answer; a call may be made from several tool calls at once.
type Subtasker interface {
	Subtask(ctx context.Context, task Subtask) (*SubtaskResult, error)
	// Subagents lists the agents that may be asked.
	Subagents() []Agent
}

// SkillFinder gives a call the skills that can be loaded.
type SkillFinder interface {
	Skills(ctx context.Context) ([]Skill, error)
}

// ToolResult is what a call gave. Output goes to the model, Title and Metadata to the user.
type ToolResult struct {
	Title       string      `json:"title"`
	Output      string      `json:"output"`
	Metadata    Object      `json:"metadata,omitempty"`
	Attachments []*FilePart `json:"attachments,omitempty"` // images and files for the model
	// KeepTail keeps the end of an output that is too large instead of its beginning.
	KeepTail bool `json:"keepTail,omitempty"`
}

// Origin says who owns a tool.
type Origin struct {
	Carrier Carrier `json:"carrier"`
	Plugin  string  `json:"plugin"`
	Server  string  `json:"server,omitempty"` // the MCP server
}

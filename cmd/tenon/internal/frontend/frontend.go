// Package frontend is the interface between a host and its user interfaces: the terminal UI, the chat, and servers for other programs.
// A user interface shows events and forwards the user's input; it makes no decisions about turns.
package frontend

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/tenonhq/tenon/builtin/tools/search/ignore"
	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/inspect"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// Host is the part of a host that user interfaces use. Local implements it in the host's process. Methods of *host.Host are documented there.
// All are safe for concurrent use. Abort, Config and Waiting return immediately.
type Host interface {
	// Turns.
	Submit(ctx context.Context, in host.PromptInput) (wait func(context.Context) (*sdk.MessageWithParts, error), err error)
	Abort(session string) bool
	Compact(ctx context.Context, session, model string) error
	Waiting(session string) []host.Waiting
	Withdraw(session, id string) error

	// Answers to questions.
	ReplyPermission(id string, reply sdk.Reply, message string) error
	AllowInSession(id string) error
	AcceptEdits(session string, on bool)
	ReplyQuestion(id string, answers [][]string) error

	// Sessions.
	CreateSession(ctx context.Context, n host.NewSession) (*sdk.Session, error)
	Session(ctx context.Context, id string) (*sdk.Session, error)
	Fork(ctx context.Context, session, messageID string) (*sdk.Session, error)
	SetTitle(ctx context.Context, session, title string) error
	DeleteSession(ctx context.Context, session string) error
	// Sessions lists the root sessions of the project, latest update first.
	Sessions(ctx context.Context) ([]store.Listed, error)
	// History returns the stored state of a session: its messages, without reverted ones, and its task list.
	History(ctx context.Context, session string) (*History, error)
	// Ledger returns the changes of plugins to each request of a session.
	Ledger(ctx context.Context, session string) ([]inspect.Explained, error)

	// Files.
	Revert(ctx context.Context, o host.RevertOptions) (*host.Reverted, error)
	SessionChanges(ctx context.Context, session string) ([]host.FileChange, error)
	// Files lists the project's files and directories, except ignored ones. Directories end in a slash.
	Files(ctx context.Context) ([]string, error)

	// Inventory.
	Config() *sdk.Config
	Agents() []sdk.Agent
	Models(ctx context.Context) []host.ModelInfo
	ListModels(ctx context.Context, o host.ModelListOptions) ([]host.ModelInfo, error)
	DefaultModel(ctx context.Context) (host.ModelChoice, error)
	CommandInfos(ctx context.Context) []host.CommandInfo
	CompleteCommand(ctx context.Context, name, arguments string) []string
	// Reload reloads plugins and providers; turns that start later use them.
	Reload(ctx context.Context) error
	// Refresh reloads plugins if the user approved others, or signed in or out, in the meantime. It returns the names of the approved ones.
	Refresh(ctx context.Context) ([]string, error)

	// Credentials of providers; see cli.Machine. New credentials take effect with Reload.
	SignInProviders() (usual, others []cli.Choice)
	KnownProvider(id string) error
	SignInMethods(provider string) []cli.Choice
	StoreKey(ctx context.Context, provider, key string) error
	SignInWith(ctx context.Context, provider, method string, keyring bool, user sdk.AuthUser) error
	TryCredentials(ctx context.Context, provider string) (string, error)
}

// History is the stored state of a session.
type History struct {
	Session   *sdk.Session
	Messages  []sdk.MessageWithParts
	Todos     []sdk.Todo
	Subagents []sdk.Session
}

// Local is a Host in this process.
type Local struct{ *cli.Machine }

var _ Host = Local{}

const (
	// maxSessions is the maximum number of listed sessions. The search of the list does not find others.
	maxSessions = 10_000
	// maxFiles is the maximum number of listed files. Of larger projects, the upper levels are listed.
	maxFiles = 50_000
)

// Sessions implements Host.
func (l Local) Sessions(ctx context.Context) ([]store.Listed, error) {
	q := store.Query{Limit: maxSessions}
	q.ProjectID, q.Directory = l.Workspace.Scope()
	list, err := l.Store.List(ctx, q)
	return list, l.Workspace.App.WithoutDamage(err)
}

// History implements Host.
func (l Local) History(ctx context.Context, session string) (*History, error) {
	s, err := l.Session(ctx, session)
	if err != nil {
		return nil, err
	}
	h, page := &History{Session: s}, store.Page{}
	if s.Revert != nil {
		page.Before = s.Revert.MessageID
	}
	h.Messages, err = l.Store.Messages(ctx, session, page)
	if err = l.Workspace.App.WithoutDamage(err); err != nil {
		return nil, err
	}
	if h.Todos, err = l.Store.Todos(ctx, session); err != nil {
		return nil, err
	}
	h.Subagents, err = Subagents(ctx, l.Machine, session)
	return h, err
}

// Subagents returns the sessions of the subagents below a session.
func Subagents(ctx context.Context, m *cli.Machine, session string) (all []sdk.Session, err error) {
	for i := 0; ; i++ {
		list, err := m.Store.Sessions(ctx, store.Query{ParentID: session, Archived: true, Limit: cli.MaxSessions})
		if err = m.Workspace.App.WithoutDamage(err); err != nil {
			return nil, err
		}
		if all = append(all, list...); i == len(all) {
			return all, nil
		}
		session = all[i].ID
	}
}

// Reload implements Host.
func (l Local) Reload(ctx context.Context) error { return l.Machine.Reload(ctx) }

// Refresh implements Host.
func (l Local) Refresh(ctx context.Context) ([]string, error) { return l.Machine.Refresh(ctx) }

// StoreKey implements Host.
func (l Local) StoreKey(ctx context.Context, provider, key string) error {
	return l.Workspace.StoreKey(ctx, provider, key, false)
}

// Ledger implements Host.
func (l Local) Ledger(ctx context.Context, session string) ([]inspect.Explained, error) {
	list, _, err := inspect.ReadLedger(ctx, l.Store, session, l.Hooks, l.Workspace.App.WithoutDamage)
	return list, err
}

// Files implements Host.
func (l Local) Files(ctx context.Context) ([]string, error) {
	root := projectfs.Real(l.Workspace.Project.Directory)
	dir, err := projectfs.OpenDir([]string{root}, root)
	if err != nil {
		return nil, fmt.Errorf("list the project's files: %w", err)
	}
	defer dir.Close()
	var out []string
	_, err = ignore.WalkLevels(ctx, dir, root, projectfs.Real(l.Workspace.Project.Worktree), func(e ignore.Entry) error {
		name := e.Rel
		if e.IsDir() {
			name += "/"
		}
		out = append(out, name)
		if len(out) >= maxFiles {
			return fs.SkipAll
		}
		return nil
	})
	return out, err
}

// Model returns the model of a session that has none yet: the configured one, else the agent's, else the best available one.
func Model(ctx context.Context, h Host, agent string) (model, reason string, err error) {
	if model := h.Config().Model; model != "" {
		return model, "", nil
	}
	if model := AgentModel(h.Agents(), agent); model != "" {
		return model, "", nil
	}
	choice, err := h.DefaultModel(ctx)
	if err != nil {
		return "", "", err
	}
	return choice.Model.Ref().String(), choice.Reason, nil
}

// AgentModel returns the model of an agent as provider/model; empty if the agent has none. It overrides the session's.
func AgentModel(agents []sdk.Agent, name string) string {
	for i := range agents {
		if agents[i].Name == name && agents[i].Model != nil {
			return agents[i].Model.String()
		}
	}
	return ""
}

package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/transcript"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// then is a message with the work that follows a command. The program's goroutine runs it, so it may use the model.
type then func()

// note returns a message that shows a text.
func (m *model) note(text string) then { return func() { m.say(text) } }

// failed returns a message that shows an error.
func (m *model) failed(err error) then { return func() { m.problem(m.o.explain(err)) } }

// opens returns a message that opens a dialog.
func (m *model) opens(d dialog.Dialog) then { return func() { m.open(d) } }

// start starts a command after the current message.
func (m *model) start(cmd tea.Cmd) { m.cmds = append(m.cmds, cmd) }

// started returns the commands to start.
func (m *model) started() tea.Cmd {
	cmds := m.cmds
	m.cmds = nil
	return tea.Batch(cmds...)
}

// command returns a command that runs f, and then the function it returns, if any. f must not use state that the model changes. Errors are shown.
func (m *model) command(f func(ctx context.Context) (then, error)) tea.Cmd {
	ctx := m.ctx
	return func() tea.Msg {
		next, err := f(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			return m.failed(err)
		case err != nil || next == nil:
			return nil
		}
		return next
	}
}

// do starts a command; see command.
func (m *model) do(f func(ctx context.Context) (then, error)) { m.start(m.command(f)) }

// fetch starts a command that requests a value, which use receives afterwards.
func fetch[T any](m *model, request func(ctx context.Context) (T, error), use func(T)) {
	m.do(func(ctx context.Context) (then, error) {
		value, err := request(ctx)
		return func() { use(value) }, err
	})
}

// load reads a stored session and shows it. Events are shown in the meantime.
func (m *model) load(session string) {
	t := m.threadOf(session)
	m.threads[session] = t
	fetch(m, func(ctx context.Context) (*frontend.History, error) { return m.host.History(ctx, session) }, t.Read())
}

// refresh returns a command that reloads the session if another process, such as a second terminal, has changed it.
func (m *model) refresh() tea.Cmd {
	session, shown := m.root, m.main().Info.Time.Updated
	if session == "" || shown == 0 || m.main().Busy() { // 0: the session is being read
		return nil
	}
	return m.command(func(ctx context.Context) (then, error) {
		s, err := m.host.Session(ctx, session)
		if err != nil || s.Time.Updated == shown {
			return nil, err
		}
		return func() { m.load(session) }, nil
	})
}

func (m *model) loadInventory() {
	fetch(m, func(ctx context.Context) (inventory, error) {
		return inventory{m.host.Agents(), m.host.Models(ctx), m.host.CommandInfos(ctx)}, nil
	}, func(found inventory) { m.inventory = found })
}

// loadCommands reloads the commands: an MCP server's are known only once it has started.
func (m *model) loadCommands() {
	m.do(func(ctx context.Context) (then, error) {
		list := m.host.CommandInfos(ctx)
		return func() {
			if m.inventory.commands = list; strings.HasPrefix(m.input.Before(), "/") && !strings.Contains(m.input.Before(), " ") {
				m.menu.update(m)
			}
		}, nil
	})
}

// loadFiles reloads the names of files, which any program may create or delete at any time. A menu in which the user has moved stays as it is.
func (m *model) loadFiles() {
	fetch(m, m.host.Files, func(list []string) {
		changed, n := !slices.Equal(m.files, list), &m.menu
		if m.files = list; changed && n.at == 0 && n.before == m.input.Before() && strings.Contains(n.before, "@") {
			n.update(m)
		}
	})
}

// waiting returns the waiting prompts of a busy session. In an idle one, the turn of the first prompt is about to begin.
func (m *model) waiting() []host.Waiting {
	if !m.main().Busy() {
		return nil
	}
	return m.host.Waiting(m.root)
}

func (m *model) loadFallback() {
	agent := m.agentName()
	m.do(func(ctx context.Context) (then, error) {
		name, reason, err := frontend.Model(ctx, m.host, agent)
		return func() { m.fallback, m.reason = name, reason }, err
	})
}

// loadBranch reads the branch of the working tree.
func (m *model) loadBranch() {
	fetch(m, func(context.Context) (string, error) { return branchOf(m.o.worktree), nil }, func(branch string) { m.branch = branch })
}

// branchOf returns the checked-out branch or commit; empty outside a repository.
func branchOf(worktree string) string {
	dir := filepath.Join(worktree, ".git")
	if link, err := readSmall(dir); err == nil { // a linked worktree
		dir = projectfs.Pointed(worktree, strings.TrimPrefix(link, "gitdir: "))
	}
	head, err := readSmall(filepath.Join(dir, "HEAD"))
	if err != nil {
		return ""
	}
	head = terminal.OneLine(head)
	if branch, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
		return branch
	}
	return visible.Cut(head, 8, "")
}

// maxGitFile is the maximum number of bytes read from a Git file: the longest path on Linux, and some more.
const maxGitFile = 5 << 10

// readSmall reads the beginning of a regular file, whose path comes from the project.
func readSmall(path string) (string, error) {
	f, _, err := projectfs.OpenRegular(path)
	if err != nil {
		return "", err
	}
	data, _, err := projectfs.ReadLimited(f, maxGitFile)
	return string(data), err
}

// agentName returns the agent of the next prompt.
func (m *model) agentName() string {
	if m.mode == modePlan {
		return sdk.AgentPlan
	}
	used, standard := m.main().Info.Agent, m.host.Config().DefaultAgent
	if m.leftPlan() {
		used = ""
	}
	if m.left && standard == sdk.AgentPlan {
		standard = ""
	}
	return cmp.Or(m.agent, used, standard, sdk.AgentBuild)
}

// leftPlan reports whether the user left plan mode while the session's agent, or the default one of a new session, is still the one of that mode.
func (m *model) leftPlan() bool {
	return m.left && cmp.Or(m.main().Info.Agent, m.host.Config().DefaultAgent) == sdk.AgentPlan
}

// modelOf returns the model of the next prompt as provider/model, and its variant: the user's choice, else the agent's, the session's, the
// default. The session's variant applies only to its own agent; for another agent, the host chooses.
func (m *model) modelOf() (name, effort string) {
	used := m.main().Info.Model
	agent := m.agentName()
	name = cmp.Or(m.modelName, frontend.AgentModel(m.inventory.agents, agent), used.String(), m.fallback)
	if m.modelName == "" && m.effort == "" && used != nil && name == used.String() && agent == m.main().Info.Agent {
		return name, used.Variant
	}
	return name, m.effort
}

// modelNamed returns the model with a name such as provider/model, or an empty one if it is unknown.
func (m *model) modelNamed(name string) sdk.Model {
	for i := range m.inventory.models {
		if info := &m.inventory.models[i].Model; info.Ref().String() == name {
			return *info
		}
	}
	return sdk.Model{}
}

// promptInput returns a prompt for the host with the user's choices. It leaves the rest to the host, because a model named here counts as
// chosen by the user and would bypass the approval of a repository's choice.
func (m *model) promptInput(text string, files []string) host.PromptInput {
	in := host.PromptInput{SessionID: m.root, Text: text, Agent: m.agent, Model: m.modelName}
	if _, in.Variant = m.modelOf(); m.mode == modePlan || m.leftPlan() {
		in.Agent = m.agentName()
	}
	in.Parts = cli.Mapped(files, func(path *string) sdk.Part {
		return &sdk.FilePart{Filename: filepath.Base(*path), URL: input.FileURL(*path)}
	})
	return in
}

// submit sends a prompt. Without a session, it creates one first.
func (m *model) submit(text string, files []string) { m.send(m.promptInput(text, files)) }

func (m *model) send(in host.PromptInput) {
	m.shown = m.root
	m.thread().List.End()
	if m.root != "" {
		m.start(tea.Sequence(m.refresh(), m.prompt(in)))
		return
	}
	m.creating = true
	m.do(func(ctx context.Context) (then, error) {
		s, err := m.host.CreateSession(ctx, host.NewSession{Title: m.o.title})
		return func() {
			if m.creating = false; err != nil {
				m.problem(m.o.explain(err))
				m.giveBack(in)
				return
			}
			m.begin(s)
			m.acceptEdits()
			in.SessionID = s.ID
			m.start(m.prompt(in))
		}, nil
	})
}

// giveBack puts a prompt that was not stored in its session back into the input. If the user is writing another one or has left the session, it
// puts the prompt aside and says so in the session. If a draft was put aside already, the prompt remains only in the history.
func (m *model) giveBack(in host.PromptInput) {
	place := "ctrl+r finds it"
	switch {
	case m.input.Empty() && in.SessionID == m.root:
		fill(&m.input, &in)
		return
	case m.stash.Empty():
		fill(&m.stash, &in)
		place = "ctrl+s shows it"
	}
	m.threadOf(in.SessionID).Notice(transcript.Warn, "not sent: "+view.Clip(terminal.OneLine(in.Text), 60)+"; "+place)
}

// prompt returns a command that submits a prompt to its session and waits for the answer.
func (m *model) prompt(in host.PromptInput) tea.Cmd {
	return func() tea.Msg {
		var message *sdk.MessageWithParts
		m.loadApproved()
		m.edits.send(m.host) // the command of acceptEdits may run later
		wait, err := m.host.Submit(m.ctx, in)
		if err == nil {
			m.post(redraw{}) // the prompt is waiting now
			message, err = wait(m.ctx)
		}
		return then(func() { m.prompted(in, message, err) })
	}
}

// loadApproved loads plugins that the user approved in another terminal, and credentials.
func (m *model) loadApproved() {
	names, err := m.host.Refresh(m.ctx)
	switch {
	case err != nil:
		m.post(logMsg("changes made in another terminal cannot be loaded: " + m.o.clean(err.Error())))
	case len(names) > 0:
		m.post(m.note("approved and loaded: " + terminal.OneLine(strings.Join(names, ", "))))
	}
}

// begin makes a new session the one that receives prompts.
func (m *model) begin(s *sdk.Session) {
	t := m.threads[s.ID]
	if t == nil {
		t = transcript.New(s, &m.look)
		t.List.Items = m.threads[""].List.Items // earlier notices
		m.threads[s.ID] = t
	}
	m.root, m.shown = s.ID, s.ID
}

// acceptEdits passes the mode of the current session to the host.
func (m *model) acceptEdits() {
	session := ""
	if m.mode == modeEdits {
		session = m.root
	}
	m.edits.wanted.Store(&session)
	m.do(func(context.Context) (then, error) {
		m.edits.send(m.host)
		return nil, nil
	})
}

// edits holds the session whose edits are accepted; empty: none. Commands run in any order, so each one sends the latest value.
type edits struct {
	wanted atomic.Pointer[string]
	mu     sync.Mutex // guards sent, and orders the calls of the host
	sent   string
}

func (e *edits) send(h frontend.Host) {
	e.mu.Lock()
	defer e.mu.Unlock()
	wanted := e.wanted.Load()
	if wanted == nil || *wanted == e.sent {
		return
	}
	if e.sent != "" {
		h.AcceptEdits(e.sent, false)
	}
	if e.sent = *wanted; e.sent != "" {
		h.AcceptEdits(e.sent, true)
	}
}

// prompted handles the end of a turn. last is its last message; nil means that the prompt was not stored in the session. An event has shown the
// error of a failed turn, so only the remedy is shown here.
func (m *model) prompted(in host.PromptInput, last *sdk.MessageWithParts, problem error) {
	var turn *host.TurnError
	var refusal *sdk.Refusal
	t, stored := m.threadOf(in.SessionID), last != nil
	switch {
	case m.ctx.Err() != nil:
		return
	case problem == nil:
		if stored {
			if note := view.Shortfall(last); note != "" {
				t.Notice(transcript.Warn, note+` "continue"`)
			}
		}
		return
	case errors.As(problem, &refusal) && refusal.By == "user":
		m.say("stopped because you answered no; tell the model what to do instead")
	case !errors.As(problem, &turn):
		m.problem(m.o.explain(problem))
	case turn.Named.Name == sdk.ErrorAborted:
		m.toast = toast{} // "interrupting"
		text := "interrupted"
		if stored {
			text += "; everything so far is stored, and the next prompt continues from there"
		}
		t.Notice(transcript.Faint, text)
	case stored:
		m.say(m.o.remedy(problem))
	default: // nothing to continue
		m.say(m.o.remedy(turn.Err))
	}
	if errors.Is(problem, host.ErrWaits) {
		t.Notice(transcript.Warn, "waits for your next prompt: "+view.Clip(terminal.OneLine(in.Text), 60))
	} else if !stored {
		m.giveBack(in)
	}
}

// switchTo continues another session with its agent and model, or begins a new one with those that the user chose.
func (m *model) switchTo(session string) {
	before, _ := m.modelOf()
	m.root, m.shown, m.left = session, session, false
	if session != "" {
		m.agent, m.modelName, m.effort = "", "", ""
	}
	m.acceptEdits()
	switch t := m.threads[session]; {
	case session == "":
		m.threads[""] = transcript.New(&sdk.Session{}, &m.look)
		if now, _ := m.modelOf(); now != before {
			m.effort = "" // other models may not have it
		}
		m.loadFallback()
	case t == nil || !t.Busy():
		m.load(session)
	}
}

// interrupt ends the turn.
func (m *model) interrupt() {
	if m.host.Abort(m.root) {
		m.say("interrupting")
	}
}

// editWaiting withdraws a waiting prompt and puts it into the input.
func (m *model) editWaiting(w host.Waiting) {
	session := m.root
	m.do(func(context.Context) (then, error) {
		if err := m.host.Withdraw(session, w.ID); err != nil {
			return m.note("this prompt was sent already"), nil
		}
		return func() { m.replace(&w.Input) }, nil
	})
}

// replace puts a prompt into the input as the user entered it. The previous draft goes to the history.
func (m *model) replace(in *host.PromptInput) {
	if draft := m.draft(); strings.TrimSpace(draft) != "" {
		m.start(m.remember(draft))
	}
	fill(&m.input, in)
}

// fill writes a prompt into an editor as the user entered it.
func fill(e *edit.Editor, in *host.PromptInput) {
	e.Set(typed(in))
	for _, part := range in.Parts {
		if f, ok := part.(*sdk.FilePart); ok && strings.HasPrefix(f.URL, "file:") {
			if path, err := input.FilePath(f.URL); err == nil {
				attach(e, path)
			}
		}
	}
}

// typed returns the text of a prompt as the user entered it.
func typed(in *host.PromptInput) string {
	switch {
	case in.Shell:
		return "!" + in.Text
	case in.Command != "":
		return fmt.Sprintf("/%s %s", in.Command, in.Text)
	}
	return in.Text
}

// nextMode switches to the next mode: ask, accept edits, plan. The agent of plan mode counts as this mode, whatever chose it.
func (m *model) nextMode() {
	if m.agentName() == sdk.AgentPlan {
		m.mode, m.left = modeAsk, true
		if m.agent == sdk.AgentPlan {
			m.agent = ""
		}
	} else if m.mode++; m.mode == modePlan && !slices.ContainsFunc(m.inventory.agents, func(a sdk.Agent) bool { return a.Name == sdk.AgentPlan }) {
		m.mode = modeAsk
	}
	m.acceptEdits()
}

// nextAgent chooses the next primary agent.
func (m *model) nextAgent() {
	list := m.primaries()
	if len(list) == 0 {
		return
	}
	i := slices.IndexFunc(list, func(a sdk.Agent) bool { return a.Name == m.agentName() })
	if m.mode == modePlan {
		m.mode = modeAsk
	}
	m.agent = list[(i+1)%len(list)].Name
	m.say("agent " + terminal.OneLine(m.agent))
}

func (m *model) primaries() []sdk.Agent {
	return slices.DeleteFunc(slices.Clone(m.inventory.agents), func(a sdk.Agent) bool { return a.Mode == sdk.ModeSubagent || a.Hidden })
}

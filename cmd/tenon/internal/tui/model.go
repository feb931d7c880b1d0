package tui

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/past"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/settings"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/transcript"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// model is the whole screen. Only the program's goroutine uses it: what takes time runs in commands, which return messages.
type model struct {
	ctx  context.Context // of the program: commands run in it
	host frontend.Host
	o    options
	now  func() time.Time
	// changed says that the screen may have to be drawn.
	changed func(typed bool)
	post    func(tea.Msg) // passes a message to the program, from any goroutine

	width, height int
	method        ansi.Method // how the terminal counts columns
	look          transcript.Look
	dark, blurred bool
	settings      settings.Settings

	threads map[string]*transcript.Thread // by session; that without an ID is in place of one until there is one
	root    string                        // the session prompts go to; empty until the first one
	shown   string                        // the root or one of its subagents' sessions

	input    edit.Editor
	stash    edit.Editor       // a draft that is put aside
	undone   transcript.Prompt // that undo put into the input
	history  past.Recall
	menu     menu
	dialogs  []dialog.Dialog // the last one sees keys first
	asks     []asked         // questions of the host, the first one is on the screen
	leader   bool            // ctrl+x was pressed
	front    dialog.Dialog   // question on the top; nil: none
	frontAt  time.Time       // when it came there, or ignored a key last
	pressed  time.Time       // when a key was pressed last
	armed    string          // key that does something if it is pressed again
	creating bool            // the session of the first prompt

	agent, modelName, effort string // chosen by the user; empty: those of the session
	fallback, reason         string // the model if neither session nor user chose one, and why it is that one
	mode                     mode
	left                     bool // the user left the plan mode: the session's agent is not that of the next prompt if it is the one of this mode
	edits                    edits
	files                    []string // of the project
	branch                   string
	inventory                inventory
	toast                    toast
	log                      []string       // the latest records
	notices                  []string       // messages of plugin notices that the session shows
	forgets                  bool           // the history is not stored
	editors                  sync.WaitGroup // editors of the user that have the terminal
}

// asked is a question of the host about a session. It stays open until it is answered, here or elsewhere.
type asked struct {
	dialog.Dialog
	id, session string
}

// inventory is what the host offers.
type inventory struct {
	agents   []sdk.Agent
	models   []host.ModelInfo
	commands []host.CommandInfo
}

// toast is a short message above the input, until the next key.
type toast struct {
	text string
	bad  bool
}

// mode says what is asked: Shift-Tab changes it.
type mode int

const (
	modeAsk mode = iota
	modeEdits
	modePlan
)

func (m mode) String() string { return [...]string{"ask", "accept edits", "plan"}[m] }

// Messages to the model beside then.
type (
	eventsMsg []sdk.Event
	logMsg    string
	redraw    struct{} // draws the screen again: something changed it without a message
)

func newModel(ctx context.Context, h frontend.Host, o options) *model {
	m := &model{
		ctx: ctx, host: h, o: o, now: time.Now, changed: func(bool) {}, threads: map[string]*transcript.Thread{},
		settings: o.settings, dark: true, history: past.Recall{File: o.past}, agent: o.agent, modelName: o.model, effort: o.effort,
		pressed: time.Now(),
	}
	m.look = transcript.Look{Directory: o.directory, Now: func() time.Time { return m.now() }, Child: m.childText}
	m.setTheme()
	m.threads[""] = transcript.New(&sdk.Session{}, &m.look)
	return m
}

// setTheme takes the theme that the user chose; an unknown one is the first.
func (m *model) setTheme() {
	all := draw.Themes(m.dark)
	m.look.Theme = &all[0]
	for i := range all {
		if all[i].Name == m.settings.Theme {
			m.look.Theme = &all[i]
		}
	}
}

// thread returns the shown session.
func (m *model) thread() *transcript.Thread { return m.threads[m.shown] }

// main returns the session that prompts go to.
func (m *model) main() *transcript.Thread { return m.threads[m.root] }

// threadOf returns a session; one that is not the user's is new and not shown.
func (m *model) threadOf(session string) *transcript.Thread {
	if t := m.threads[session]; t != nil {
		return t
	}
	return transcript.New(&sdk.Session{ID: session}, &m.look)
}

// say shows a message until the next key.
func (m *model) say(text string)     { m.toast = toast{text: text} }
func (m *model) problem(text string) { m.toast = toast{text, true} }

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.loadInventory(), m.loadFiles(), m.loadBranch(), tea.RequestBackgroundColor}
	if s := m.o.session; s != nil {
		m.begin(s)
		cmds = append(cmds, m.load(s.ID))
	} else {
		cmds = append(cmds, m.loadFallback())
	}
	fill(&m.input, &m.o.prompt)
	if text, files := m.input.Text(); text != "" {
		m.input.Set("")
		cmds = append(cmds, m.remember(text), m.submit(text, files))
	}
	return tea.Batch(cmds...)
}

// Update implements tea.Model. It never waits.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, typed := msg.(tea.KeyPressMsg)
	m.changed(typed)
	cmd := m.update(msg)
	return m, tea.Batch(cmd, m.faced())
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		m.dark = msg.IsDark()
		m.setTheme()
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeUnicodeCore && !msg.Value.IsNotRecognized() && !msg.Value.IsPermanentlyReset() {
			m.method = ansi.GraphemeWidth // as bubbletea's renderer does
		}
	case tea.FocusMsg:
		m.blurred = false
		return m.refresh()
	case tea.BlurMsg:
		m.blurred = true
	case tea.KeyPressMsg:
		return m.key(dialog.Usual(msg))
	case tea.PasteMsg:
		return m.paste(msg.Content)
	case tea.MouseWheelMsg:
		m.wheel(msg)
	case tea.MouseClickMsg:
		m.click(msg)
	case eventsMsg:
		return m.events(msg)
	case logMsg:
		m.logged(string(msg))
	case then:
		return msg()
	}
	return nil
}

// maxLog is the number of log records that are kept for /log.
const maxLog = 500

// logged keeps a record of the log, and shows it unless it repeats a notice in the session.
func (m *model) logged(record string) {
	if m.log = append(m.log, record); len(m.log) > maxLog {
		m.log = m.log[1:]
	}
	if !slices.ContainsFunc(m.notices, func(notice string) bool { return repeats(record, notice) }) {
		m.problem(record + " (/log shows all)")
	}
}

// notice shows a problem of a plugin in the session instead of its record in the log, which arrives before or after it.
func (m *model) notice(p *sdk.PluginNotice) {
	m.notices = append(m.notices, p.Message)
	m.main().Notice(transcript.Warn, view.Notice(p))
	if repeats(m.toast.text, p.Message) {
		m.toast = toast{}
	}
}

func repeats(record, notice string) bool {
	return strings.Contains(terminal.OneLine(record), terminal.OneLine(notice))
}

// tick redraws running work once a second, while there is any.
func (m *model) tick() tea.Cmd {
	t := m.thread()
	if !t.Busy() {
		return nil
	}
	t.Tick()
	return m.nextTick()
}

func (m *model) nextTick() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return then(m.tick) })
}

package tui

import (
	"context"
	"maps"
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

// model is the state of the screen. Only the program's goroutine uses it. Slow work runs in commands, which return messages.
type model struct {
	ctx  context.Context // the program's context, which bounds commands
	host frontend.Host
	o    options
	now  func() time.Time
	// changed is called when the screen may have changed.
	changed func(typed bool)
	post    func(tea.Msg) // passes a message to the program, from any goroutine

	width, height int
	method        ansi.Method // the terminal's way of counting columns
	look          transcript.Look
	dark, blurred bool
	settings      settings.Settings

	threads map[string]*transcript.Thread // by session ID; "" until the first prompt creates a session
	root    string                        // session that receives prompts; empty until the first prompt
	shown   string                        // the root or one of its subagents' sessions

	input    edit.Editor
	stash    edit.Editor       // draft put aside with ctrl+s
	undone   transcript.Prompt // prompt that undo put into the input
	history  *past.History
	menu     menu
	dialogs  []dialog.Dialog // the last one receives keys
	asks     []asked         // pending questions of the host; the first one is on the screen
	leader   bool            // ctrl+x was pressed
	front    dialog.Dialog   // visible question; nil: none
	frontAt  time.Time       // time at which it appeared or last ignored a key
	pressed  time.Time       // time of the last key
	typed    time.Time       // time of the last key for the prompt
	armed    string          // key that has an effect if it is pressed again
	creating bool            // the session is being created
	ticking  bool            // tick is scheduled

	agent, modelName, effort string // chosen by the user; empty: the session's
	fallback, reason         string // model used if neither session nor user chose one, and the reason for it
	mode                     mode
	left                     bool // the user left plan mode, so its agent does not answer the next prompt even if it is the session's
	edits                    edits
	files                    []string // the project's files
	branch                   string
	inventory                inventory
	toast                    toast
	log                      []string       // the latest records
	notices                  []string       // messages of plugin notices that the session shows
	forgets                  bool           // storing the history failed
	images                   images         // removed at the end
	cmds                     []tea.Cmd      // started after the current message
	editors                  sync.WaitGroup // user's editors that occupy the terminal
}

// asked is a question of the host about a session. It stays open until it is answered, here or in another client.
type asked struct {
	dialog.Dialog
	id, session string
}

// inventory lists the host's agents, models and commands.
type inventory struct {
	agents   []sdk.Agent
	models   []host.ModelInfo
	commands []host.CommandInfo
}

// toast is a short message above the input. The next key removes it.
type toast struct {
	text string
	bad  bool
}

// mode decides which actions need permission. Shift-Tab changes it.
type mode int

const (
	modeAsk mode = iota
	modeEdits
	modePlan
)

func (m mode) String() string { return [...]string{"ask", "accept edits", "plan"}[m] }

// Messages to the model, in addition to then.
type (
	eventsMsg []sdk.Event
	logMsg    string
	redraw    struct{} // redraws the screen
)

func newModel(ctx context.Context, h frontend.Host, o options) *model {
	m := &model{
		ctx: ctx, host: h, o: o, now: time.Now, changed: func(bool) {}, threads: map[string]*transcript.Thread{},
		settings: o.settings, dark: true, history: o.past, agent: o.agent, modelName: o.model, effort: o.effort,
		pressed: time.Now(),
	}
	m.look = transcript.Look{Directory: o.directory, Now: func() time.Time { return m.now() }, Child: func(session string) string { return m.threadOf(session).Doing() }}
	m.setTheme()
	m.threads[""] = transcript.New(&sdk.Session{}, &m.look)
	return m
}

// setTheme applies the user's theme, or the first one if it is unknown.
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

// threadOf returns the thread of a session. For a session outside this conversation, it returns a new one that is not shown.
func (m *model) threadOf(session string) *transcript.Thread {
	if t := m.threads[session]; t != nil {
		return t
	}
	return transcript.New(&sdk.Session{ID: session}, &m.look)
}

// say shows a message until the next key; problem marks it as an error.
func (m *model) say(text string)     { m.toast = toast{text: text} }
func (m *model) problem(text string) { m.toast = toast{text, true} }

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	m.start(tea.RequestBackgroundColor)
	m.loadInventory()
	m.loadFiles()
	m.loadBranch()
	if s := m.o.session; s != nil {
		m.begin(s)
		m.load(s.ID)
	} else {
		m.loadFallback()
	}
	fill(&m.input, &m.o.prompt)
	if text, files := m.input.Text(); text != "" {
		m.input.Set("")
		m.start(m.remember(text))
		m.submit(text, files)
	}
	return m.started()
}

// Update implements tea.Model. It never waits.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, typed := msg.(tea.KeyPressMsg)
	m.changed(typed)
	m.update(msg)
	m.faced()
	return m, m.started()
}

func (m *model) update(msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if m.width > 0 {
			m.repaint()
		}
		if m.width, m.height = msg.Width, msg.Height; m.width == 0 || m.height == 0 { // unknown, as on a serial console
			m.start(func() tea.Msg { return tea.WindowSizeMsg{Width: 80, Height: 24} })
		}
	case tea.BackgroundColorMsg:
		m.dark = msg.IsDark()
		m.setTheme()
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeUnicodeCore && !msg.Value.IsNotRecognized() && !msg.Value.IsPermanentlyReset() {
			m.method = ansi.GraphemeWidth // like bubbletea's renderer
		}
	case tea.FocusMsg:
		m.blurred = false
		m.start(m.refresh())
		m.loadBranch()
	case tea.BlurMsg:
		m.blurred = true
	case tea.KeyPressMsg:
		m.key(dialog.Usual(msg))
	case tea.PasteMsg:
		m.paste(msg.Content)
	case tea.MouseWheelMsg:
		m.wheel(msg)
	case tea.MouseClickMsg:
		m.click(msg)
	case tea.MouseMotionMsg: // while a button is pressed
		m.say("hold shift to select text, or switch the mouse off with ctrl+x k")
	case eventsMsg:
		for i := range msg {
			m.event(&msg[i])
		}
	case logMsg:
		m.logged(string(msg))
	case then:
		msg()
	}
}

// repaint draws the whole screen again. It first resets the scroll region: bubbletea restores the region for the last size it knows. A frame
// that reaches the terminal after a resize therefore leaves the wrong region, in which line feeds scroll instead of moving the cursor.
func (m *model) repaint() {
	m.start(tea.Sequence(tea.Raw(ansi.SetTopBottomMargins(0, 0)), tea.ClearScreen))
}

// maxLog is the maximum number of log records kept for /log.
const maxLog = 500

// logged stores a log record and shows it, unless it repeats a notice in the session.
func (m *model) logged(record string) {
	if m.log = append(m.log, record); len(m.log) > maxLog {
		m.log = m.log[1:]
	}
	if !slices.ContainsFunc(m.notices, func(notice string) bool { return repeats(record, notice) }) {
		m.problem(record + " (/log shows all)")
	}
}

// notice shows a plugin's problem in the session, and not its log record, which arrives before or after the event.
func (m *model) notice(p *sdk.PluginNotice) {
	if !slices.Contains(m.notices, p.Message) {
		m.notices = append(m.notices, p.Message)
	}
	m.main().Notice(transcript.Warn, view.Notice(p))
	if repeats(m.toast.text, p.Message) {
		m.toast = toast{}
	}
}

func repeats(record, notice string) bool {
	return strings.Contains(terminal.OneLine(record), terminal.OneLine(notice))
}

// tick redraws once a second while a turn runs, even in a session that is not shown: the user may return to it.
func (m *model) tick() {
	if m.ticking = slices.ContainsFunc(slices.Collect(maps.Values(m.threads)), (*transcript.Thread).Busy); m.ticking {
		m.start(tea.Tick(time.Second, func(time.Time) tea.Msg { return then(m.tick) }))
	}
}

package tui

import (
	"context"
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/past"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

func (a *answers) KnownProvider(id string) error {
	if id != "mine" {
		return errors.New("unknown provider " + id)
	}
	return nil
}

func (a *answers) SignInMethods(string) []cli.Choice { return []cli.Choice{{Name: cli.MethodKey}} }

func (a *answers) Reload(context.Context) error { return a.reload() }

func (a *answers) TryCredentials(ctx context.Context, _ string) (string, error) {
	a.try()
	return "tested", ctx.Err()
}

func TestConnectChecksItsArgument(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct{ toast, screen string }{
		"/connect mine":         {screen: "Key of mine (not shown)"},
		"/connect mine/":        {screen: "Key of mine (not shown)"},
		"/connect mien":         {toast: "unknown provider mien"},
		"/connect mine s3cret":  {toast: "takes one provider"},
		"/login mine  s3cret":   {toast: "takes one provider"},
		"/connect\tmine s3cret": {toast: "unknown command"},
		"/conect mine s3cret":   {toast: "did you mean /connect?"},
		"/key s3cret":           {toast: "unknown command /key; /help lists the commands. To send"},
		"/permissions":          {toast: "in a shell, run: tenon permission. To send"},
		"/connect/mine s3cret":  {toast: "did you mean /connect?"},
		"/conect/mine s3cret":   {toast: "did you mean /connect?"},
		"/connect=s3/cret":      {toast: "unknown command"},
		"/connect\ts3/cret":     {toast: "unknown command"},
	} {
		m, _ := testModel(t, 80, 24)
		m.o.explain = func(err error) string { return err.Error() }
		m.history = &past.History{}
		m.input.Set(line)
		_, cmd := m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
		for _, msg := range messages(cmd) {
			m.Update(msg)
		}
		screen := m.plain()
		if !strings.Contains(m.toast.text, want.toast) || !strings.Contains(screen, want.screen) || (want.toast == "") != (len(m.dialogs) > 0) {
			t.Errorf("%s: toast %q, screen:\n%s", line, m.toast.text, screen)
		}
		if diff := cmp.Diff([]string(nil), m.history.Entries); diff != "" {
			t.Errorf("%s: history (-want +have):\n%s", line, diff)
		}
	}
}

// A sign-in that the user cancels after the key was stored says so, and a late notice of a plugin changes nothing.
func TestEndOfASignIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cancelIn string // the step in which the user presses esc
		store    error
		reload   error
		want     string
	}{
		"tested":             {want: "mine: tested · /model chooses a model"},
		"canceled":           {cancelIn: "store", store: context.Canceled, want: "mine: canceled"},
		"stored late":        {cancelIn: "store", want: "mine: stored, not tested"},
		"canceled in reload": {cancelIn: "reload", want: "mine: stored, not tested"},
		"canceled in test":   {cancelIn: "try", want: "mine: stored, not tested"},
		"not stored":         {store: errors.New("the disk is full"), want: "the disk is full"},
		"not loaded":         {reload: errors.New("a bad plugin"), want: "stored, but not in use yet: a bad plugin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, h := testModel(t, 80, 24)
			m.o.explain = func(err error) string { return err.Error() }
			step := func(name string) {
				if name == c.cancelIn {
					m.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
				}
			}
			h.reload = func() error { step("reload"); return c.reload }
			h.try = func() { step("try") }
			var plugin sdk.AuthUser
			signIn := m.startedBy(func() {
				m.store("mine", func(_ context.Context, user sdk.AuthUser) error {
					plugin = user
					step("store")
					return c.store
				})
			})
			m.Update(signIn())
			for range 20 {
				plugin.Notice("late")
			}
			if m.toast.text != c.want {
				t.Errorf("toast %q, want %q", m.toast.text, c.want)
			}
		})
	}
}

// Only lines that may hold a key are left out of the history.
func TestOtherCommandsAreKept(t *testing.T) {
	t.Parallel()
	m, _ := testModel(t, 80, 24)
	m.inventory.commands = []host.CommandInfo{{Command: sdk.Command{Name: "deploy"}}, {Command: sdk.Command{Name: "git/tag"}}}
	for line, want := range map[string]bool{
		"explain /connect": false, "/tmp/main.go has a bug": false, "/rename New title": false, "/deploy prod": false, "/git/tag v1": false, "/help": false, "/nope": true,
		"/lib/x.so is missing": false, "/home/me/x": false, "/log/x": false,
		"/content/sample_data is empty": false, "/context/x": false, "/contact/x": false, "/plugin/main.go has a bug": false,
		"/connect/mine key": true, "/login/mine": true, "/conect/mine key": true, "/logni/mine key": true, "/connect=a/b": true, "/connect mine": true, "/login mine key": true, "/conect mine key": true, "/delpoy prod": true, "/connect=key": true,
	} {
		if have := m.mayHoldKey(line); have != want {
			t.Errorf("mayHoldKey(%q) = %v", line, have)
		}
	}
}

// A prompt loads the plugins that were approved in another terminal.
func TestPromptLoadsApprovedPlugins(t *testing.T) {
	t.Parallel()
	m, h := testModel(t, 80, 24)
	h.approved = []string{"redactor"}
	if m.prompt(m.promptInput("hi", nil))(); m.toast.text != "approved and loaded: redactor" {
		t.Errorf("toast %q", m.toast.text)
	}
}

package tui

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

// connect signs in to the provider of the arguments, else to the one that the user picks.
func (m *model) connect(args string) {
	if len(strings.Fields(args)) > 1 {
		m.problem("/connect takes one provider; it asks for the key afterwards")
		return
	}
	if provider := strings.TrimRight(args, "/"); provider != "" {
		m.do(func(context.Context) (then, error) {
			methods := m.host.SignInMethods(provider)
			return func() { m.chooseMethod(provider, methods) }, m.host.KnownProvider(provider)
		})
		return
	}
	m.do(func(context.Context) (then, error) {
		usual, others := m.host.SignInProviders()
		return m.opens(&dialog.Picker{
			Title: "Provider", Empty: "no providers", Choose: func(r dialog.Row) { m.connect(r.ID) },
			Rows: cli.Mapped(append(usual, others...), func(c *cli.Choice) dialog.Row {
				return dialog.Row{ID: c.Name, Label: c.Name, Note: view.Clip(terminal.OneLine(c.Text), 40)}
			}),
		}), nil
	})
}

// chooseMethod opens the picker of sign-in methods if there are several.
func (m *model) chooseMethod(provider string, methods []cli.Choice) {
	if len(methods) == 1 {
		m.signIn(provider, methods[0].Name)
		return
	}
	m.open(&dialog.Picker{
		Title: "Sign in to " + provider, Choose: func(r dialog.Row) { m.signIn(provider, r.ID) },
		Rows: cli.Mapped(methods, func(c *cli.Choice) dialog.Row { return dialog.Row{ID: c.Name, Label: c.Text, Note: c.Name} }),
	})
}

// signIn signs in with a method, or asks for the key.
func (m *model) signIn(provider, method string) {
	if method != cli.MethodKey {
		m.store(provider, func(ctx context.Context, user sdk.AuthUser) error {
			return m.host.SignInWith(ctx, provider, method, false, user)
		})
		return
	}
	m.open(&dialog.Line{Title: "Key of " + terminal.OneLine(provider) + " (not shown)", Secret: true, Done: func(key string) {
		key = strings.Join(strings.Fields(key), " ")
		m.store(provider, func(ctx context.Context, _ sdk.AuthUser) error { return m.host.StoreKey(ctx, provider, key) })
	}})
}

// store stores credentials, reloads the providers and sends a test request. A dialog shows the progress; the result is shown at the end.
func (m *model) store(provider string, store func(context.Context, sdk.AuthUser) error) {
	ctx, cancel := context.WithCancel(m.ctx)
	u := &signingIn{browse: m.o.browse, post: m.post, pasted: make(chan string, 1)}
	u.dialog = &dialog.Line{
		Title: "Connecting to " + terminal.OneLine(provider), Hint: "esc cancel", Cancel: cancel,
		Copy: m.copy,
	}
	m.open(u.dialog)
	m.start(func() tea.Msg {
		defer cancel()
		result, err := "canceled", store(ctx, u)
		switch {
		case err == nil:
			u.Notice("stored; sending a test request")
			result, err = m.tryStored(ctx, provider)
		case ctx.Err() != nil:
			err = nil
		}
		return then(func() {
			if m.close(u.dialog); err != nil {
				m.problem(m.o.explain(err))
			} else {
				m.say(provider + ": " + result)
			}
			m.loadInventory()
			m.loadFallback()
		})
	})
}

// tryStored reloads the providers and tests the credentials of one. The user can cancel the test through ctx.
func (m *model) tryStored(ctx context.Context, provider string) (string, error) {
	if err := m.host.Reload(m.ctx); err != nil {
		return "", fmt.Errorf("stored, but not in use yet: %w", err)
	}
	result, err := m.host.TryCredentials(ctx, provider)
	if err != nil && ctx.Err() != nil {
		return "stored, not tested", nil
	}
	return result + " · /model chooses a model", err
}

// signingIn implements sdk.AuthUser for a sign-in that runs in a command. It shows each step in a dialog.
type signingIn struct {
	browse func(address string) (opened bool, err error)
	post   func(tea.Msg) // passes a message to the program
	pasted chan string   // address that the user entered
	dialog *dialog.Line
}

var _ sdk.AuthUser = (*signingIn)(nil)

// show adds a line to the dialog, and sets the address to copy unless it is empty.
func (u *signingIn) show(line, address string) {
	u.post(then(func() {
		u.dialog.Lines = append(u.dialog.Lines, line)
		u.dialog.Address = cmp.Or(address, u.dialog.Address)
	}))
}

// enter receives an address from the user.
func (u *signingIn) enter(text string) {
	select {
	case u.pasted <- strings.Join(strings.Fields(text), ""): // the terminal broke it into lines
	default: // the first one is being read
	}
}

// Notice implements sdk.AuthUser.
func (u *signingIn) Notice(text string) { u.show(terminal.OneLine(text), "") }

// Code implements sdk.AuthUser.
func (u *signingIn) Code(address, code string) {
	u.show(fmt.Sprintf("open %s and enter the code %s", terminal.OneLine(address), terminal.OneLine(code)), terminal.OneLine(address))
}

// Visit implements sdk.AuthUser.
func (u *signingIn) Visit(ctx context.Context, address string) (string, error) {
	opened, err := u.browse(address)
	if err != nil {
		return "", err
	}
	line := "open this address in a browser to sign in: "
	if opened {
		line = "opened your browser to sign in; if nothing appears, open this address: "
	}
	u.show(line+terminal.OneLine(address), address)
	u.post(then(func() {
		u.dialog.Label, u.dialog.Done = "If the browser cannot load the last page, paste its address here:", u.enter
	}))
	select {
	case text := <-u.pasted:
		return text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

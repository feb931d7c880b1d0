package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/sdk"
)

// Visit asks the user to open an address, and opens it in a browser if possible. It returns the line that the user enters, which is the address
// to which a browser on another machine was redirected, or waits until ctx ends.
func (a *App) Visit(ctx context.Context, address string) (string, error) {
	if err := a.show(address); err != nil {
		return "", err
	}
	a.Say("if the browser runs on another machine and cannot load the last page, paste the address of that page here:")
	line, err := a.enter(ctx)
	if err == nil && line == "" {
		return "", errors.New("canceled")
	}
	return line, err
}

// Watch is Visit without reading stdin, which belongs to the session. It waits for a browser on this machine.
func (a *App) Watch(ctx context.Context, address string) (string, error) {
	if err := a.show(address); err != nil {
		return "", err
	}
	<-ctx.Done()
	return "", ctx.Err()
}

// show prints an address and opens it in a browser if possible.
func (a *App) show(address string) error {
	opened, err := a.Browse(address)
	if err != nil {
		return err
	}
	if opened {
		a.Say("opened your browser to sign in; if nothing appears, open this address:")
	} else {
		a.Say("open this address in a browser to sign in:")
	}
	a.Say("\n  %s\n", address)
	return nil
}

// enter returns a line of stdin. After the end of stdin it waits until ctx ends.
func (a *App) enter(ctx context.Context) (string, error) {
	keys := terminal.NewKeyboard(a.In)
	for {
		if line, ok := keys.Line(); ok {
			return strings.TrimSpace(line), nil
		}
		keys.Want()
		select {
		case p := <-keys.Pieces:
			keys.Took(p)
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// Browse opens an http or https address in the user's browser: $BROWSER, or the browser of a graphical session on this machine. It
// reports whether it started a program.
func (a *App) Browse(address string) (opened bool, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return false, fmt.Errorf("address %q: want https://…", terminal.OneLine(address))
	}
	command := a.browser()
	if command == nil {
		return false, nil
	}
	program, err := a.Program(command[0])
	cmd := exec.Command(program, append(command[1:], u.String())...)
	cmd.Env = a.Env
	child.OwnSession(cmd) // Ctrl-C and the end of the terminal do not reach it
	if err != nil || cmd.Start() != nil {
		return false, nil
	}
	go func() { _ = cmd.Wait() }() // ends with the program, which may outlive this one
	return true, nil
}

// browser returns the command that opens an address, or nil.
func (a *App) browser() []string {
	if name, _, _ := strings.Cut(a.Env.Lookup("BROWSER"), ":"); name != "" {
		return strings.Fields(name)
	}
	if a.Env.Lookup("SSH_CONNECTION") != "" {
		return nil // the browser would open on the other machine
	}
	switch runtime.GOOS {
	case "windows":
		return []string{"rundll32.exe", "url.dll,FileProtocolHandler"}
	case "darwin":
		return []string{"open"}
	}
	if a.Env.Lookup("DISPLAY") == "" && a.Env.Lookup("WAYLAND_DISPLAY") == "" {
		return nil
	}
	return []string{"xdg-open"}
}

// word matches a word of a command line. Quotes may enclose one with spaces.
var word = lazyregexp.New(`"([^"]*)"|'([^']*)'|(\S+)`)

// Editor returns the words of $VISUAL or $EDITOR; none if both are empty.
func (a *App) Editor() (words []string) {
	for _, m := range word().FindAllStringSubmatch(cmp.Or(strings.TrimSpace(a.Env.Lookup("VISUAL")), a.Env.Lookup("EDITOR")), -1) {
		words = append(words, m[1]+m[2]+m[3])
	}
	return words
}

// AuthUser implements sdk.AuthUser for sign-ins on the command line.
type AuthUser struct{ *App }

var _ sdk.AuthUser = AuthUser{}

// Notice shows a line.
func (u AuthUser) Notice(text string) { u.Say("%s", text) }

// Code shows a code that the user enters at an address.
func (u AuthUser) Code(address, code string) {
	u.Say("open %s and enter the code %s", terminal.OneLine(address), terminal.OneLine(code))
}

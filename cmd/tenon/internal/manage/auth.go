package manage

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/internal/credentials"
)

// authLogin holds the flags of "tenon auth login".
type authLogin struct {
	*cli.App
	method, env, file string
	noTest, keyring   bool
}

func (f *authLogin) flags() cli.Flags {
	return cli.Flags{"method": &f.method, "env": &f.env, "file": &f.file, "keyring": &f.keyring, "no-test": &f.noTest}
}

// run signs in with one host, and tests the credentials with another host, which loads them at its start.
func (f *authLogin) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	w, err := f.Place(ctx)
	if err != nil {
		return err
	}
	if _, err := w.Credentials().Get(""); errors.Is(err, credentials.ErrFile) {
		return err // fail before the user enters a key that cannot be stored
	}
	var id, path string
	err = f.WithMachine(ctx, func(m *cli.Machine) (err error) {
		if path = m.Workspace.Credentials().Path(); f.keyring {
			path = "the system's keyring"
		}
		if id, err = f.provider(m, args); err != nil {
			return err
		}
		method, err := f.chosenMethod(m.SignInMethods(id))
		if err != nil {
			return err
		}
		if method == cli.MethodKey {
			key, err := f.key(id)
			if err != nil {
				return err
			}
			return m.Workspace.StoreKey(ctx, id, key, f.keyring)
		}
		return m.SignInWith(ctx, id, method, f.keyring, cli.AuthUser{App: f.App})
	})
	if err != nil {
		return err
	}
	f.Say("stored the credentials of %s in %s", id, path)
	if f.noTest {
		return nil
	}
	return f.WithMachine(ctx, func(m *cli.Machine) error {
		result, err := m.TryCredentials(ctx, id)
		if err == nil {
			f.Say("%s", result)
		}
		return err
	})
}

// provider returns the provider of the arguments, or the one that the user picks from the usual ones.
func (f *authLogin) provider(m *cli.Machine, args []string) (string, error) {
	if len(args) > 0 {
		id := strings.TrimRight(args[0], "/")
		return id, m.KnownProvider(id)
	}
	const others = "tenon models --all lists all providers"
	usual, _ := m.SignInProviders()
	if !f.Screen.Answers {
		return "", cli.UsageError("name one of them, such as: tenon auth login openai; "+others, "missing provider; the usual ones are %s", cli.Names(usual))
	}
	id, err := f.Pick("provider (a number or an ID; "+others+"): ", usual)
	if err == nil && id == "" {
		err = cli.UsageError("run tenon auth login again", "no provider chosen")
	}
	return id, err
}

// chosenMethod returns the name of the sign-in method of the flags, else the only one, else the one that the user picks.
func (f *authLogin) chosenMethod(methods []cli.Choice) (string, error) {
	switch {
	case f.env != "" || f.file != "":
		return cli.MethodKey, nil
	case f.method != "":
		return f.method, nil
	case len(methods) == 1:
		return methods[0].Name, nil
	case !f.Screen.Answers:
		return cli.MethodKey, nil // the key is on stdin
	}
	return f.Pick("sign-in method (a number or an ID): ", methods)
}

// key returns a key from the environment, a file or stdin.
func (f *authLogin) key(id string) (key string, err error) {
	switch {
	case f.env != "":
		if key = f.Env.Lookup(f.env); key == "" {
			return "", cli.UsageError("set it, or omit --env to enter the key", "variable %s is not set", f.env)
		}
	case f.file != "":
		file, failed := os.Open(f.file)
		if failed != nil {
			return "", cli.UsageError("name a file that you can read", "key file: %w", failed)
		}
		defer file.Close()
		key, err = cli.ReadSecret(file)
	default:
		key, err = f.AskSecret("key of " + terminal.OneLine(id))
	}
	if err == nil && key == "" {
		err = cli.UsageError("enter the key, pipe it to stdin, or use --env or --file", "the key of %s is empty", id)
	}
	return key, err
}

// listedCredential is a credential in the list.
type listedCredential struct {
	Provider string    `json:"provider"`
	Type     string    `json:"type"`
	Source   string    `json:"source"`
	Expires  time.Time `json:"expires,omitzero"`
}

func (g *group) listCredentials(_ context.Context, w *cli.Workspace, _ []string) error {
	stored, err := w.StoredKeys()
	if err != nil && len(stored) == 0 {
		return err
	}
	var list []listedCredential
	for _, id := range slices.Sorted(maps.Keys(stored)) {
		c := stored[id]
		one := listedCredential{Provider: id, Type: cli.MethodKey, Source: c.Source}
		if c.Keyring {
			one.Source = "keyring"
		}
		if c.Type == credentials.TypeOAuth {
			one.Type = "sign-in"
		}
		if c.Expires != 0 {
			one.Expires = time.UnixMilli(c.Expires)
		}
		list = append(list, one)
	}
	const empty = "no stored credentials; tenon auth login PROVIDER stores some"
	return errors.Join(cli.List(g.App, list, empty, []string{"provider", "type", "from"}, func(l *listedCredential) []string {
		return []string{l.Provider, l.Type, l.Source}
	}), err)
}

func (g *group) logout(ctx context.Context, w *cli.Workspace, args []string) error {
	err := w.Credentials().Delete(ctx, credentials.ForProvider(args[0]))
	if errors.Is(err, credentials.ErrNotFound) {
		return cli.UsageError("tenon auth list shows them; opencode's are removed with opencode auth logout", "no stored credentials of %s", args[0])
	}
	if err == nil {
		g.Say("removed the credentials of %s", args[0])
	}
	return err
}

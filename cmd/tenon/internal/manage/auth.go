package manage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// testTimeout limits the test request at the end of a sign-in.
	testTimeout = 15 * time.Second
	// methodKey is the sign-in method that stores a key.
	methodKey = "key"
)

func authCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "auth", Short: "Manage keys of and sign-ins to model providers", SuggestFor: []string{"login", "logout", "connect"},
		Long: `Keys and tokens are stored in credentials.json in your data directory, readable only by you; with --keyring, the secrets are in
the system's keyring. A key in the configuration takes
precedence over one in the environment, and that over a stored one. Keys and tokens of opencode are used, too; opencode's file is
never changed.`,
	}
	cli.Group(cmd)
	cmd.AddCommand(authLoginCommand(a), authListCommand(a), authLogoutCommand(a))
	return cmd
}

// authLogin holds the flags of "tenon auth login".
type authLogin struct {
	method, env, file string
	noTest, keyring   bool
}

func authLoginCommand(a *cli.App) *cobra.Command {
	var f authLogin
	cmd := &cobra.Command{
		Use: "login [PROVIDER]", Short: "Store the key of a provider, or sign in to it",
		Long: `Store the key of a provider, or sign in to it. The key is read from stdin, without showing it on a terminal, from an
environment variable or from a file. A request at the end tests it.`,
		Example: `  tenon auth login anthropic
  tenon auth login github-copilot
  tenon auth login openai --env OPENAI_API_KEY
  pass show groq | tenon auth login groq`,
		Args: cli.Args(0, 1, "a provider"),
		RunE: func(cmd *cobra.Command, args []string) error { return login(cmd.Context(), a, &f, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.method, "method", "", "sign-in `method`: key, or one that tenon auth login PROVIDER lists")
	flags.StringVar(&f.env, "env", "", "store the value of this environment `variable`")
	flags.StringVar(&f.file, "file", "", "store the key in this `file`")
	flags.BoolVar(&f.keyring, "keyring", false, "store the secret in the system's keyring instead of the file")
	flags.BoolVar(&f.noTest, "no-test", false, "do not send a test request")
	return cmd
}

// login signs in with one host, and tests the credentials with another one, which has them from its start.
func login(ctx context.Context, a *cli.App, f *authLogin, args []string) error {
	var id, path string
	err := a.WithMachine(ctx, func(m *cli.Machine) (err error) {
		if path = m.Workspace.Credentials().Path(); f.keyring {
			path = "the system's keyring"
		}
		if id, err = chooseProvider(m, args); err != nil {
			return err
		}
		method, err := chooseMethod(m, f, id)
		switch {
		case err != nil:
		case method != nil:
			err = m.Workspace.Login(ctx, method, f.keyring)
		default:
			err = storeKey(ctx, m.Workspace, f, id)
		}
		return err
	})
	switch {
	case errors.Is(err, oauth.ErrDenied):
		return cli.Fail(cli.ExitRefused, err, "run tenon auth login "+id+" again and allow the access")
	case errors.Is(err, oauth.ErrExpired):
		return cli.Fail(cli.ExitTurn, err, "run tenon auth login "+id+" again")
	case err != nil:
		return err
	}
	a.Screen.Line("stored the credentials of " + terminal.Visible(id) + " in " + path)
	if f.noTest {
		return nil
	}
	return a.WithMachine(ctx, func(m *cli.Machine) error { return testProvider(ctx, a, m, id) })
}

// chooseProvider returns the provider of the arguments, or the one that the user picks from those with a sign-in and the best known ones.
func chooseProvider(m *cli.Machine, args []string) (string, error) {
	if len(args) > 0 {
		id := strings.TrimRight(args[0], "/")
		return id, knownProvider(m, id)
	}
	var choices []cli.Choice
	var names []string
	add := func(id, text string) {
		if !slices.Contains(names, id) {
			names, choices = append(names, id), append(choices, cli.Choice{Name: id, Text: text})
		}
	}
	for _, one := range m.AuthMethods("") {
		add(one.Provider, "sign-in or key")
	}
	for _, p := range m.ProviderInfos() {
		if p.Default != "" && len(p.Env) > 0 {
			add(p.ID, p.Name)
		}
	}
	const others = "tenon models --all lists all providers"
	if !m.Workspace.App.Screen.Answers {
		return "", cli.UsageError("name one of them, such as: tenon auth login openai; "+others, "missing provider; the usual ones are %s", strings.Join(names, ", "))
	}
	id, err := m.Workspace.App.Pick("provider (a number or an ID; "+others+"): ", choices)
	if err == nil && id == "" {
		err = cli.UsageError("run tenon auth login again", "no provider chosen")
	}
	return id, err
}

// knownProvider returns an error for a provider that nothing describes: credentials of a misspelled one would never be used.
func knownProvider(m *cli.Machine, id string) error {
	var ids []string
	for _, p := range m.ProviderInfos() {
		ids = append(ids, p.ID)
	}
	if slices.Contains(ids, id) || len(m.AuthMethods(id)) > 0 {
		return nil
	}
	fix := "tenon models --all lists all providers; provider." + id + " in tenon.json adds one"
	if near := nearest.Name(id, ids); near != "" {
		fix = "did you mean " + near + "? " + fix
	}
	return cli.UsageError(fix, "unknown provider %q", id)
}

// chooseMethod returns the sign-in method, or nil for a key.
func chooseMethod(m *cli.Machine, f *authLogin, id string) (*sdk.AuthMethod, error) {
	a, methods := m.Workspace.App, m.AuthMethods(id)
	if f.method == methodKey || f.env != "" || f.file != "" || f.method == "" && len(methods) == 0 {
		return nil, nil
	}
	wanted := f.method
	keyed := slices.ContainsFunc(m.ProviderInfos(), func(p sdk.ProviderInfo) bool { return p.ID == id && len(p.Env) > 0 })
	if wanted == "" && !a.Screen.Answers && (keyed || len(methods) > 1) {
		return nil, nil // a key on stdin
	}
	choices := []cli.Choice{{Name: methodKey, Text: "an API key"}}
	names := []string{methodKey}
	for i := range methods {
		name := methodName(&methods[i])
		names = append(names, fmt.Sprintf("%s (%s)", name, methods[i].Name))
		choices = append(choices, cli.Choice{Name: name, Text: methods[i].Name})
	}
	if wanted == "" && len(methods) == 1 && !keyed {
		return &methods[0], nil
	}
	if wanted == "" {
		var err error
		if wanted, err = a.Pick("sign-in method (a number or an ID): ", choices); err != nil || wanted == methodKey {
			return nil, err
		}
	}
	for i := range methods {
		if methodName(&methods[i]) == wanted {
			return &methods[i], nil
		}
	}
	return nil, cli.UsageError("choose one with --method", "provider %s has no sign-in method %q; it has %s", id, wanted, strings.Join(names, ", "))
}

// methodName returns the name of a method for --method: the ID, with the plugin of one that is not compiled in.
func methodName(m *sdk.AuthMethod) string {
	if m.Plugin == "" {
		return m.ID
	}
	return m.Plugin + "/" + m.ID
}

// storeKey stores a key from the environment, a file or stdin.
func storeKey(ctx context.Context, w *cli.Workspace, f *authLogin, id string) error {
	var key string
	var err error
	switch {
	case f.env != "":
		if key = w.App.Env.Lookup(f.env); key == "" {
			return cli.UsageError("set it, or leave out --env to enter the key", "variable %s is not set", f.env)
		}
	case f.file != "":
		file, openErr := os.Open(f.file)
		if openErr != nil {
			return cli.UsageError("name a file that you can read", "key file: %w", openErr)
		}
		defer file.Close()
		key, err = cli.ReadSecret(file)
	default:
		key, err = w.App.AskSecret("key of " + terminal.OneLine(id))
	}
	if err != nil {
		return err
	}
	if key == "" {
		return cli.UsageError("enter the key, pipe it to stdin, or use --env or --file", "the key of %s is empty", id)
	}
	return w.Credentials().Put(ctx, credentials.ForProvider(id), &credentials.Credential{Type: credentials.TypeKey, Key: key, Keyring: f.keyring})
}

// testProvider sends a request with the credentials.
func testProvider(ctx context.Context, a *cli.App, m *cli.Machine, id string) error {
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	n, err := m.TestProvider(ctx, id)
	var refused *sdk.ProviderError
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		a.Screen.Line("not tested: no model of this provider is known")
		return nil
	case errors.As(err, &refused) && (refused.StatusCode == 401 || refused.StatusCode == 403):
		return cli.Fail(cli.ExitModel, fmt.Errorf("stored, but %s refused them: %w", id, err), "check the key, and run tenon auth login "+id+" again")
	case err != nil:
		return cli.Fail(cli.ExitModel, fmt.Errorf("stored, but the test failed: %w", err), "tenon doctor tests again")
	}
	if n == 0 {
		a.Screen.Line(fmt.Sprintf("tested: %s answers", terminal.Visible(id)))
		return nil
	}
	a.Screen.Line(fmt.Sprintf("tested: %s lists %s", terminal.Visible(id), view.Plural(n, "model")))
	return nil
}

// listedCredential is a credential in the list.
type listedCredential struct {
	Provider string    `json:"provider"`
	Type     string    `json:"type"`
	Source   string    `json:"source"`
	Expires  time.Time `json:"expires,omitzero"`
}

func authListCommand(a *cli.App) *cobra.Command {
	return a.FormatFlag(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the stored credentials of providers",
		Args: cli.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := a.Place(cmd.Context())
			if err != nil {
				return err
			}
			stored, err := w.StoredKeys()
			var list []listedCredential
			for _, id := range slices.Sorted(maps.Keys(stored)) {
				c := stored[id]
				one := listedCredential{Provider: id, Type: methodKey, Source: c.Source}
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
			return errors.Join(cli.List(a, list, cli.Listing[listedCredential]{
				Empty: "no stored credentials; tenon auth login PROVIDER stores some",
				Head:  []string{"provider", "type", "from"},
				Row: func(l *listedCredential) []string {
					return []string{terminal.OneLine(l.Provider), l.Type, terminal.OneLine(l.Source)}
				},
			}), err)
		},
	})
}

func authLogoutCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "logout PROVIDER", Short: "Remove the stored credentials of a provider",
		Args: cli.Args(1, 1, "a provider"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.Place(cmd.Context())
			if err != nil {
				return err
			}
			err = w.Credentials().Delete(cmd.Context(), credentials.ForProvider(args[0]))
			if errors.Is(err, credentials.ErrNotFound) {
				return cli.UsageError("tenon auth list shows them; opencode's are removed with opencode auth logout", "no stored credentials of %s", args[0])
			}
			if err == nil {
				a.Screen.Line("removed the credentials of " + terminal.Visible(args[0]))
			}
			return err
		},
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// MethodKey is the name of the sign-in method that stores a key.
	MethodKey = "key"
	// testTimeout limits the test request at the end of a sign-in.
	testTimeout = 15 * time.Second
)

// SignInProviders lists the providers that a user may sign in to: the usual ones, which offer a sign-in or are well known, and the others.
func (m *Machine) SignInProviders() (usual, others []Choice) {
	known := map[string]bool{}
	add := func(to *[]Choice, id, text string) {
		if !known[id] {
			known[id] = true
			*to = append(*to, Choice{id, text})
		}
	}
	for _, one := range m.AuthMethods("") {
		add(&usual, one.Provider, "sign-in or key")
	}
	infos := m.ProviderInfos()
	for i := range infos {
		if infos[i].Default != "" && len(infos[i].Env) > 0 {
			add(&usual, infos[i].ID, infos[i].Name)
		}
	}
	for i := range infos {
		add(&others, infos[i].ID, infos[i].Name)
	}
	return usual, others
}

// KnownProvider returns an error with a remedy for an unknown provider: credentials of a misspelled one would never be used.
func (m *Machine) KnownProvider(id string) error {
	ids := Mapped(m.ProviderInfos(), func(p *sdk.ProviderInfo) string { return p.ID })
	if slices.Contains(ids, id) || len(m.AuthMethods(id)) > 0 {
		return nil
	}
	fix := "tenon models --all lists all providers; provider." + id + " in tenon.json adds one"
	return UsageError(Suggest(fix, "%s", id, ids), "unknown provider %q", id)
}

// SignInMethods lists the ways to sign in to a provider: MethodKey and the sign-in methods of plugins. It omits MethodKey if a single method
// replaces the key.
func (m *Machine) SignInMethods(provider string) []Choice {
	methods := m.AuthMethods(provider)
	keyed := slices.ContainsFunc(m.ProviderInfos(), func(p sdk.ProviderInfo) bool { return p.ID == provider && len(p.Env) > 0 })
	out := Mapped(methods, func(one *sdk.AuthMethod) Choice { return Choice{methodName(one), one.Name} })
	if keyed || len(methods) != 1 {
		out = slices.Insert(out, 0, Choice{MethodKey, "an API key"})
	}
	return out
}

// methodName returns the name of a method for users: its ID, after the name of a third-party plugin.
func methodName(m *sdk.AuthMethod) string {
	if m.Plugin == "" {
		return m.ID
	}
	return m.Plugin + "/" + m.ID
}

// SignInWith signs the user in to a provider with the method of a name and stores the token, in the system's keyring if keyring is set.
// Errors have a remedy.
func (m *Machine) SignInWith(ctx context.Context, provider, method string, keyring bool, user sdk.AuthUser) error {
	methods := m.AuthMethods(provider)
	i := slices.IndexFunc(methods, func(one sdk.AuthMethod) bool { return methodName(&one) == method })
	if i < 0 {
		return UsageError("choose one with --method", "provider %s has no sign-in method %q; it has %s", provider, method, Names(m.SignInMethods(provider)))
	}
	err := m.Workspace.login(ctx, &methods[i], keyring, user)
	return Remedies{
		{oauth.ErrDenied, ExitRefused, "run tenon auth login " + provider + " again and allow the access"},
		{oauth.ErrExpired, ExitTurn, "run tenon auth login " + provider + " again"},
	}.Remedied(err)
}

// StoreKey stores the key of a provider.
func (w *Workspace) StoreKey(ctx context.Context, provider, key string, keyring bool) error {
	if terminal.OneLine(key) != key {
		return UsageError("copy the key again, as one line", "the key of %s contains a line end or another character that is not shown", provider)
	}
	return w.put(ctx, provider, &credentials.Credential{Type: credentials.TypeKey, Key: key, Keyring: keyring})
}

// put stores a credential of a provider. Providers that are loaded later use it.
func (w *Workspace) put(ctx context.Context, provider string, c *credentials.Credential) error {
	w.App.Mask.hide(c.Secrets())
	defer w.stored.Store(nil)
	return w.Credentials().Put(ctx, credentials.ForProvider(provider), c)
}

// TryCredentials sends a request with the credentials of a provider, and describes the answer. Errors have a remedy.
func (m *Machine) TryCredentials(ctx context.Context, provider string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	n, err := m.TestProvider(ctx, provider)
	var refused *sdk.ProviderError
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return "not tested: no model of this provider is known", nil
	case errors.As(err, &refused) && (refused.StatusCode == 401 || refused.StatusCode == 403):
		return "", Fail(ExitModel, fmt.Errorf("stored, but %s refused them: %w", provider, err), "check the key, and run tenon auth login "+provider+" again")
	case err != nil:
		return "", Fail(ExitModel, fmt.Errorf("stored, but the test failed: %w", err), "tenon doctor tests again")
	case n == 0:
		return fmt.Sprintf("tested: %s answers", terminal.Visible(provider)), nil
	}
	return fmt.Sprintf("tested: %s lists %s", terminal.Visible(provider), view.Plural(n, "model")), nil
}

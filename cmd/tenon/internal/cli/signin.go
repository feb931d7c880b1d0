package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

// Credentials returns the store of the user's keys and tokens.
func (w *Workspace) Credentials() *credentials.Store {
	return credentials.Open(filepath.Join(w.Project.DataDir, credentials.File))
}

// hideStored masks the stored keys and tokens of providers and MCP servers from now on.
func (w *Workspace) hideStored() {
	keys, problem := credentials.Opencode(w.Project.Home, w.App.Env.Lookup, time.Now())
	stored, err := w.Credentials().All()
	if err = errors.Join(problem, err); err != nil {
		w.App.Log.Warn("stored credentials are neither used nor masked", "err", err)
	}
	for _, all := range []map[string]*credentials.Credential{keys, stored} {
		for _, c := range all {
			w.App.Mask.hide(c.Secrets())
		}
	}
}

// StoredKeys returns the credentials for providers by ID: those of the store, and those of opencode for other providers. The others are
// returned even with an error.
func (w *Workspace) StoredKeys() (map[string]*credentials.Credential, error) {
	out, problem := credentials.Opencode(w.Project.Home, w.App.Env.Lookup, time.Now())
	if out == nil {
		out = map[string]*credentials.Credential{}
	}
	all, err := w.Credentials().All()
	for name, c := range all {
		if id, ok := credentials.ProviderOf(name); ok {
			out[id] = c
		}
	}
	return out, errors.Join(problem, err)
}

// AuthMethods returns the ways to sign in to a provider; all of them if id is empty.
func AuthMethods(id string) []sdk.AuthMethod {
	var out []sdk.AuthMethod
	for _, p := range Shipped() {
		source, ok := p.(sdk.AuthSource)
		if !ok {
			continue
		}
		for _, m := range source.AuthMethods() {
			if id == "" || m.Provider == id {
				out = append(out, m)
			}
		}
	}
	return out
}

// ProviderOptions returns the options of a provider in the user's own configuration: a repository must not choose where the user signs in.
func (w *Workspace) ProviderOptions(id string) sdk.Object {
	config := w.Loaded.Config
	if w.Loaded.Own != nil {
		config = w.Loaded.Own
	}
	out := sdk.Object{}
	for name, raw := range config.Provider[id].Options.Extra {
		var v any
		if json.Unmarshal(raw, &v) == nil {
			out[name] = v
		}
	}
	return out
}

// SignIn returns the function that adds stored credentials to a provider, see host.Options. It reads the store when it is first called.
func (w *Workspace) SignIn() func(info *sdk.ProviderInfo, addressed bool) (source string) {
	stored := sync.OnceValue(func() map[string]*credentials.Credential {
		all, _ := w.StoredKeys() // hideStored reports the error
		for _, c := range all {
			w.App.Mask.hide(c.Secrets())
		}
		return all
	})
	return func(info *sdk.ProviderInfo, addressed bool) string {
		c := stored()[info.ID]
		if c == nil {
			return ""
		}
		source := "tenon auth"
		if c.Source == credentials.OpencodeSource {
			source = c.Source
		}
		if c.Type == credentials.TypeKey {
			info.Key = c.Key
			return source
		}
		method, ok := methodOf(info.ID, c.Method)
		if !ok || method.Apply != nil && addressed {
			return "" // the sign-in is for its own address
		}
		if method.Apply != nil {
			method.Apply(info, token(c))
		}
		info.Authorize = w.authorize(info.ID, method, c)
		return source
	}
}

// methodOf returns a method of a provider; the first one for a token of opencode.
func methodOf(provider, id string) (sdk.AuthMethod, bool) {
	for _, m := range AuthMethods(provider) {
		if m.ID == id || id == "" {
			return m, true
		}
	}
	return sdk.AuthMethod{}, false
}

// authorize returns the function that signs requests to a provider in.
func (w *Workspace) authorize(provider string, method sdk.AuthMethod, c *credentials.Credential) func(context.Context, map[string]string) (map[string]string, error) {
	headers := func(c *credentials.Credential) map[string]string {
		if method.Headers == nil {
			return map[string]string{"Authorization": "Bearer " + c.Access}
		}
		return method.Headers(token(c))
	}
	if c.Source == credentials.OpencodeSource {
		return func(_ context.Context, refused map[string]string) (map[string]string, error) {
			if refused != nil || c.Expired(time.Now()) {
				return nil, fmt.Errorf("the token in %s is no longer valid; run: tenon auth login %s", c.Source, provider)
			}
			return headers(c), nil
		}
	}
	store, name, options := w.Credentials(), credentials.ForProvider(provider), w.ProviderOptions(provider)
	return func(ctx context.Context, refused map[string]string) (map[string]string, error) {
		rejected := ""
		if refused != nil {
			if now, err := store.Get(name); err == nil && maps.Equal(headers(now), refused) {
				rejected = now.Access
			}
		}
		fresh, err := store.Refresh(ctx, name, rejected, func(ctx context.Context, old *credentials.Credential) (*credentials.Credential, error) {
			if method.Refresh == nil {
				return nil, errors.New("the server no longer accepts the token")
			}
			t, err := method.Refresh(ctx, options, token(old))
			if err != nil {
				return nil, err
			}
			return credential(method.ID, t), nil
		})
		if err != nil {
			return nil, signInAgain(provider, err)
		}
		w.App.Mask.hide(fresh.Secrets())
		return headers(fresh), nil
	}
}

// signInAgain adds the remedy to an error that a new sign-in repairs.
func signInAgain(provider string, err error) error {
	var refused *oauth.Error
	if errors.Is(err, credentials.ErrLocked) || errors.As(err, &refused) && refused.Status >= 500 {
		return err
	}
	return fmt.Errorf("%w; run: tenon auth login %s", err, provider)
}

func token(c *credentials.Credential) *sdk.Token {
	return &sdk.Token{Access: c.Access, Refresh: c.Refresh, Expires: c.Expires, Metadata: c.Metadata}
}

func credential(method string, t *sdk.Token) *credentials.Credential {
	return &credentials.Credential{
		Type: credentials.TypeOAuth, Access: t.Access, Refresh: t.Refresh, Expires: t.Expires, Metadata: t.Metadata, Method: method,
	}
}

// Login signs the user in to a provider and stores the token.
func (w *Workspace) Login(ctx context.Context, m *sdk.AuthMethod) error {
	t, err := m.Login(ctx, w.ProviderOptions(m.Provider), authUser{w.App})
	if err != nil {
		return err
	}
	return w.Credentials().Put(ctx, credentials.ForProvider(m.Provider), credential(m.ID, t))
}

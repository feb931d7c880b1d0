package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

// Credentials returns the store of the user's keys and tokens. There is one in a workspace: it holds refreshed tokens that could not be stored.
func (w *Workspace) Credentials() *credentials.Store {
	w.opening.Do(func() {
		w.credentials = credentials.Open(filepath.Join(w.Project.DataDir, credentials.File))
		w.credentials.Warn = func(err error) { w.App.Log.Warn(err.Error()) }
	})
	return w.credentials
}

// hideStored masks the stored keys and tokens from now on.
func (w *Workspace) hideStored() {
	if _, err := w.StoredKeys(); err != nil { // the error names the file or the credentials; other credentials are used
		w.App.Log.Warn("stored credentials are neither used nor masked", "err", err)
	}
}

// StoredKeys returns the credentials of providers by ID, from the store, or from opencode for providers missing there. From now on, these
// credentials and those of MCP servers are masked. With an error, it still returns the readable ones.
func (w *Workspace) StoredKeys() (map[string]*credentials.Credential, error) {
	out := map[string]*credentials.Credential{}
	keys, problem := credentials.Opencode(w.Project.Home, w.App.Env.Lookup, time.Now())
	for id, c := range keys {
		w.App.Mask.hide(c.Secrets())
		out[id] = c
	}
	all, err := w.Credentials().All()
	for name, c := range all {
		w.App.Mask.hide(c.Secrets())
		if id, ok := credentials.ProviderOf(name); ok {
			out[id] = c
		}
	}
	w.stored.Store(&out)
	return out, errors.Join(problem, err)
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
	if base := config.Provider[id].Options.BaseURL; base != "" {
		out["baseURL"] = base
	}
	return out
}

// SignIn adds stored credentials to a provider. See host.Options.
func (w *Workspace) SignIn(r *model.SignInRequest) (source string) {
	info := r.Info
	c := w.storedKeys()[info.ID]
	if c == nil {
		return ""
	}
	source = "tenon auth"
	if c.Source == credentials.OpencodeSource {
		source = c.Source
	}
	if c.Type == credentials.TypeKey && c.Keyring {
		return w.keyFromKeyring(info)
	}
	if c.Type == credentials.TypeKey {
		info.Key = c.Key
		if resource := c.Metadata[credentials.MetadataResource]; resource != "" && info.Options[credentials.MetadataResource] == nil {
			info.Options = model.Merged(info.Options, sdk.Object{credentials.MetadataResource: resource})
		}
		return source
	}
	method, ok := methodOf(r.Methods, info.ID, c)
	if !ok || method.Apply != nil && r.Addressed {
		return "" // the sign-in is valid only for its own address
	}
	if method.Apply != nil {
		method.Apply(info, token(c))
	}
	info.Authorize, info.SignedInBy, info.Serves = w.authorize(info.ID, method, c), method.Owner, method.Serves
	return source
}

// storedKeys returns StoredKeys, cached until a credential is stored.
func (w *Workspace) storedKeys() map[string]*credentials.Credential {
	if all := w.stored.Load(); all != nil {
		return *all
	}
	all, _ := w.StoredKeys() // hideStored reports the error
	return all
}

// CredentialsChanged reports whether keys and tokens of providers were stored, replaced or removed since they were last read, such as by another
// process. A token of the store that was only refreshed does not count as changed, because each request reads it. Credentials that can no longer
// be read are not removed.
func (w *Workspace) CredentialsChanged() bool {
	before := maps.Clone(w.storedKeys())
	now, err := w.StoredKeys()
	maps.DeleteFunc(before, func(id string, _ *credentials.Credential) bool { return err != nil && now[id] == nil })
	return !maps.EqualFunc(before, now, func(a, b *credentials.Credential) bool {
		known := *a
		if b.Source != credentials.OpencodeSource {
			known.Access, known.Refresh, known.Expires = b.Access, b.Refresh, b.Expires
		}
		return reflect.DeepEqual(&known, b)
	})
}

// keyFromKeyring sets the key of a provider from the system's keyring. If the keyring does not return it, requests fail with its error.
func (w *Workspace) keyFromKeyring(info *sdk.ProviderInfo) (source string) {
	c, err := w.Credentials().Get(credentials.ForProvider(info.ID))
	if err != nil {
		info.Authorize = func(context.Context, map[string]string) (map[string]string, error) { return nil, err }
		return "keyring"
	}
	w.App.Mask.hide(c.Secrets())
	info.Key = c.Key
	return "keyring"
}

// methodOf returns the method that issued a credential; for a token of opencode, the first built-in method.
func methodOf(methods []sdk.AuthMethod, provider string, c *credentials.Credential) (sdk.AuthMethod, bool) {
	for _, m := range methods {
		if m.Provider == provider && (issued(&m, c) || c.Method == "" && m.Plugin == "") {
			return m, true
		}
	}
	return sdk.AuthMethod{}, false
}

// issued reports whether the method issued the credential. Other methods must not see it.
func issued(m *sdk.AuthMethod, c *credentials.Credential) bool {
	return c.Method == m.ID && c.Plugin == m.Owner
}

// authorize returns the function that adds credentials to requests to a provider.
func (w *Workspace) authorize(provider string, method sdk.AuthMethod, c *credentials.Credential) func(context.Context, map[string]string) (map[string]string, error) {
	headers := headersOf(&method)
	if c.Source == credentials.OpencodeSource {
		return func(ctx context.Context, refused map[string]string) (map[string]string, error) {
			if refused != nil || c.Expired(time.Now()) {
				return nil, fmt.Errorf("the token in %s is no longer valid; run: tenon auth login %s", c.Source, provider)
			}
			return headers(ctx, c)
		}
	}
	store, name := w.Credentials(), credentials.ForProvider(provider)
	check := func(c *credentials.Credential) error {
		if !issued(&method, c) {
			return fmt.Errorf("your sign-in to %s has changed; restart tenon", provider)
		}
		return nil
	}
	refresh := func(ctx context.Context, old *credentials.Credential) (*credentials.Credential, error) {
		if err := check(old); err != nil {
			return nil, err
		}
		if method.Refresh == nil {
			return nil, errors.New("the server no longer accepts the token")
		}
		t, err := method.Refresh(ctx, w.methodOptions(&method), token(old))
		if err != nil {
			return nil, err
		}
		return credential(&method, t), nil
	}
	return func(ctx context.Context, refused map[string]string) (map[string]string, error) {
		rejected := ""
		if refused != nil {
			if now, err := store.Get(name); err == nil && issued(&method, now) {
				if sent, err := headers(ctx, now); err == nil && maps.Equal(sent, refused) {
					rejected = now.Access
				}
			}
		}
		fresh, err := store.Refresh(ctx, name, rejected, refresh)
		if err == nil {
			err = check(fresh)
		}
		if err != nil {
			if !errors.Is(err, credentials.ErrLocked) && !oauth.Passing(err) { // the failure is permanent
				err = fmt.Errorf("%w; run: tenon auth login %s", err, provider)
			}
			return nil, err
		}
		w.App.Mask.hide(fresh.Secrets())
		return headers(ctx, fresh)
	}
}

// headersOf returns a function that returns the headers for a credential. It calls the method once for each token.
func headersOf(method *sdk.AuthMethod) func(context.Context, *credentials.Credential) (map[string]string, error) {
	var mu sync.Mutex
	var access string
	var cached map[string]string
	return func(ctx context.Context, c *credentials.Credential) (map[string]string, error) {
		if method.Headers == nil {
			return map[string]string{"Authorization": "Bearer " + c.Access}, nil
		}
		mu.Lock()
		defer mu.Unlock()
		if cached != nil && access == c.Access {
			return maps.Clone(cached), nil
		}
		headers, err := method.Headers(ctx, token(c))
		if err != nil {
			return nil, err
		}
		access, cached = c.Access, headers
		return maps.Clone(headers), nil
	}
}

// methodOptions returns the options for a method: the provider's for a built-in method, none for other plugins.
func (w *Workspace) methodOptions(m *sdk.AuthMethod) sdk.Object {
	if m.Plugin != "" {
		return sdk.Object{}
	}
	return w.ProviderOptions(m.Provider)
}

func token(c *credentials.Credential) *sdk.Token {
	return &sdk.Token{Access: c.Access, Refresh: c.Refresh, Expires: c.Expires, Metadata: c.Metadata}
}

func credential(m *sdk.AuthMethod, t *sdk.Token) *credentials.Credential {
	return &credentials.Credential{
		Type: credentials.TypeOAuth, Access: t.Access, Refresh: t.Refresh, Expires: t.Expires, Metadata: t.Metadata, Method: m.ID, Plugin: m.Owner,
	}
}

// login signs the user in to a provider and stores the token.
func (w *Workspace) login(ctx context.Context, m *sdk.AuthMethod, keyring bool, user sdk.AuthUser) error {
	t, err := m.Login(ctx, w.methodOptions(m), user)
	if err != nil {
		return err
	}
	c := credential(m, t)
	c.Keyring = keyring
	return w.put(ctx, m.Provider, c)
}

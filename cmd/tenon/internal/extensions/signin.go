package extensions

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/mcp/auth"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/ability"
)

// loginTimeout limits a sign-in, most of which is the user's time in the browser.
const loginTimeout = 10 * time.Minute

// maxSignIns is the maximum number of sign-ins in a row: a server may require more scopes for its lists, or name another authorization
// server, once the user is signed in.
const maxSignIns = 2

// ErrNoSignIn is returned for a server that the user cannot sign in to.
var ErrNoSignIn = errors.New("no sign-in")

// authorizer returns what signs requests to a server in; nil if tenon does not: for a local server, if the configuration switches it off,
// or if the user's headers contain the credentials. fresh ignores the stored token.
func (s *Set) authorizer(c *Candidate, fresh bool) *auth.Authorizer {
	if c.Server == nil || c.Server.OAuth.Off || hasAuthorization(c.Server) {
		return nil
	}
	return s.tokens(c, fresh)
}

// tokens is authorizer for a server of which a token may be stored, even if tenon does not use it any more; nil for a local server.
func (s *Set) tokens(c *Candidate, fresh bool) *auth.Authorizer {
	server := c.Server
	if server == nil || server.Transport == mcp.TransportStdio {
		return nil
	}
	return auth.New(auth.Options{
		Server: server.Name, URL: server.URL, Config: server.OAuth, Definition: server.TokenScope(), Fresh: fresh, Hide: s.opts.Hide,
		Store: s.credentials(),
	})
}

func hasAuthorization(server *mcp.Server) bool {
	for name := range server.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

// Login signs the user in to a server, even if a token is stored, and returns what the server offers. Errors: ErrNoSignIn.
func (s *Set) Login(ctx context.Context, c *Candidate, visit oauth.Visit) (*mcp.Definition, error) {
	a := s.authorizer(c, true)
	if a == nil {
		return nil, ErrNoSignIn
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loginTimeout, errors.New("no answer from the browser within "+loginTimeout.String()))
	defer cancel()
	options := s.serverOptions(c)
	options.Authorizer = a
	if _, err := mcp.Probe(ctx, *c.Server, s.opts.Project, options); err != nil && !errors.As(err, new(*auth.SignInError)) {
		return nil, err
	}
	var err error
	for range maxSignIns {
		if err := a.SignIn(ctx, visit); err != nil {
			return nil, errors.Join(err, context.Cause(ctx))
		}
		c.offered, err = mcp.Probe(ctx, *c.Server, s.opts.Project, options)
		if !errors.As(err, new(*auth.SignInError)) {
			break
		}
	}
	return c.offered, err
}

// credentials returns the store of tokens.
func (s *Set) credentials() *credentials.Store {
	store := credentials.Open(filepath.Join(s.opts.Project.DataDir, credentials.File))
	store.Warn = func(err error) { s.opts.Logger.Warn(err.Error()) }
	return store
}

// Logout removes the stored token of a server, even if its configuration switched sign-in off since. Errors: credentials.ErrNotFound.
func (s *Set) Logout(ctx context.Context, c *Candidate) error {
	name, err := s.tokenName(c)
	if err != nil || name == "" {
		return cmp.Or(err, credentials.ErrNotFound)
	}
	return s.credentials().Delete(ctx, name)
}

// Sharing returns the other servers that use the stored token of a server: those of the user with the same address and client.
func (s *Set) Sharing(c *Candidate) (names []string, err error) {
	token, err := s.tokenName(c)
	for _, other := range s.Candidates {
		if name, _ := s.tokenName(other); other != c && name == token && name != "" {
			names = append(names, other.Name)
		}
	}
	return names, err
}

// tokenName returns the name of a server's stored token; empty without one.
func (s *Set) tokenName(c *Candidate) (string, error) {
	a := s.tokens(c, false)
	if a == nil {
		return "", nil
	}
	name, _, err := a.Stored()
	if errors.Is(err, credentials.ErrNotFound) {
		return "", nil
	}
	return name, err
}

// SignIn returns the stored token of a server. Errors: ErrNoSignIn, credentials.ErrNotFound, credentials.ErrFile.
func (s *Set) SignIn(c *Candidate) (*credentials.Credential, error) {
	a := s.authorizer(c, false)
	if a == nil {
		return nil, ErrNoSignIn
	}
	_, token, err := a.Stored()
	return token, err
}

// Unsigned returns the servers that did not work because they require sign-in, except those for which the user declined it.
func (s *Set) Unsigned() []*Candidate {
	var out []*Candidate
	for _, c := range s.Candidates {
		if !c.mayStart() || s.authorizer(c, false) == nil {
			continue
		}
		if last := s.LastCheck(c); last != nil && last.SignIn && !last.Declined {
			out = append(out, c)
		}
	}
	return out
}

// Decline records that the user does not want to sign in to a server now.
func (s *Set) Decline(c *Candidate) { mcp.Decline(s.serverDir(), *c.Server) }

// Stored lists what a plugin leaves on this machine. A later plugin of its name in the same lock file would have it.
type Stored struct {
	Dir    string   // of its data; empty: none
	Tokens []string // names of stored sign-ins, of its methods and of its MCP servers
	store  *credentials.Store
}

// Empty reports whether the plugin left nothing.
func (s *Stored) Empty() bool { return s.Dir == "" && len(s.Tokens) == 0 }

// Delete deletes the data and the sign-ins.
func (s *Stored) Delete(ctx context.Context) error {
	var err error
	if s.Dir != "" {
		err = errors.Join(child.RemoveAll(s.Dir), os.RemoveAll(s.Dir+ability.LockSuffix))
	}
	for _, name := range s.Tokens {
		err = errors.Join(err, s.store.Delete(ctx, name))
	}
	return err
}

// Stored returns what an installed plugin has stored, without sign-ins if the error is about their file. Its servers are known only before
// it is removed.
func (s *Set) Stored(in *plugins.Installed) (*Stored, error) {
	out := &Stored{store: s.credentials()}
	dir, owner := s.loader.Stored(in)
	if _, err := os.Stat(dir); err == nil {
		out.Dir = dir
	}
	list, err := out.store.All()
	for name, c := range list {
		if c.Plugin == owner {
			out.Tokens = append(out.Tokens, name)
		}
	}
	for _, c := range s.Candidates {
		if c.pack != in.Name || c.Server == nil || c.Server.Data != dir {
			continue // the server of another plugin, which may have the same name in another lock file
		}
		if name, _ := s.tokenName(c); name != "" {
			out.Tokens = append(out.Tokens, name)
		}
	}
	return out, err
}

package extensions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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

// authorizer returns the authorizer of requests to a server; nil for a local server, if the configuration switches sign-in off, or if the
// user's headers contain the credentials. fresh ignores the stored token.
func (s *Set) authorizer(c *Candidate, fresh bool) *auth.Authorizer {
	if c.Server == nil || c.Server.OAuth.Off {
		return nil
	}
	for name := range c.Server.Headers {
		if strings.EqualFold(name, "Authorization") {
			return nil
		}
	}
	return s.tokens(c, fresh)
}

// tokens is authorizer for any remote server that may have a stored token, even if tenon no longer uses it; nil for a local server.
func (s *Set) tokens(c *Candidate, fresh bool) *auth.Authorizer {
	server := c.Server
	if server == nil || server.Transport == mcp.TransportStdio {
		return nil
	}
	return auth.New(auth.Options{
		Server: server.Name, URL: server.URL, Config: server.OAuth, Definition: server.TokenScope(), Fresh: fresh, Hide: s.opts.Hide,
		Store: s.opts.Credentials,
	})
}

// Remedy returns the remedy for a server that did not work when it was last started.
func (s *Set) Remedy(c *Candidate) string {
	last := s.LastCheck(c)
	return c.Server.Remedy(last != nil && last.SignIn, s.serverOptions(c).Authorizer)
}

// Login signs the user in to a server, even if a token is stored, and requests the server's definition. Errors: ErrNoSignIn.
func (s *Set) Login(ctx context.Context, c *Candidate, visit oauth.Visit) error {
	a := s.authorizer(c, true)
	if a == nil {
		return ErrNoSignIn
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loginTimeout, errors.New("no answer from the browser within "+loginTimeout.String()))
	defer cancel()
	options := s.serverOptions(c)
	options.Authorizer, options.SigningIn = a, true
	_, err := mcp.Probe(ctx, *c.Server, s.opts.Project, options)
	if err != nil && !errors.As(err, new(*auth.SignInError)) {
		return err
	}
	options.SigningIn = false
	for range maxSignIns {
		if err := a.SignIn(ctx, visit); err != nil {
			return fmt.Errorf("MCP server %q: %w", c.Server.Name, errors.Join(err, context.Cause(ctx)))
		}
		c.offered, err = mcp.Probe(ctx, *c.Server, s.opts.Project, options)
		if !errors.As(err, new(*auth.SignInError)) {
			break
		}
	}
	return err
}

// Logout removes the stored token of a server, even if its configuration switched sign-in off since. Errors: credentials.ErrNotFound.
func (s *Set) Logout(ctx context.Context, c *Candidate) error {
	name, err := s.tokenName(c)
	if err != nil || name == "" {
		return cmp.Or(err, credentials.ErrNotFound)
	}
	return s.opts.Credentials.Delete(ctx, name)
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

// Stored lists the data that an installed plugin leaves on this machine, and that a later plugin with its name in the same lock file would
// use: the names of sign-ins, by its methods and to its MCP servers, and the directory of its data. It lists no sign-ins if the error is
// about their file. The servers are known only before the plugin is removed. remove deletes everything.
func (s *Set) Stored(in *plugins.Installed) (what []string, remove func(context.Context) error, err error) {
	store := s.opts.Credentials
	dir, owner := s.Loader.Stored(in)
	list, err := store.All()
	for name, c := range list {
		if c.Plugin == owner {
			what = append(what, name)
		}
	}
	for _, c := range s.Candidates {
		if c.pack != in.Name || c.Server == nil || c.Server.Data != dir {
			continue // the server of another plugin, which may have the same name in another lock file
		}
		if name, err := s.tokenName(c); err == nil && name != "" {
			what = append(what, name)
		}
	}
	tokens := what
	if _, err := os.Stat(dir); err == nil {
		what = append(slices.Clone(tokens), dir)
	}
	return what, func(ctx context.Context) error {
		err := errors.Join(child.RemoveAll(dir), os.RemoveAll(dir+ability.LockSuffix))
		for _, name := range tokens {
			err = errors.Join(err, store.Delete(ctx, name))
		}
		return err
	}, err
}

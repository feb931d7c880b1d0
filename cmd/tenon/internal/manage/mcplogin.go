package manage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/oauth"
)

func (g *group) signIn(ctx context.Context, s *extensions.Set, c *extensions.Candidate, _ []string) error {
	return Login(ctx, g.App, s, c, g.Visit)
}

// Login signs the user in to an approved server. If it is the user's own server, Login then approves the items that it
// offers, as mcp add does.
func Login(ctx context.Context, a *cli.App, s *extensions.Set, c *extensions.Candidate, visit oauth.Visit) error {
	notice := time.AfterFunc(time.Second, func() { a.Say("waiting for %s and the servers that it names for sign-in", c.Name) })
	err := s.Login(ctx, c, func(ctx context.Context, address string) (string, error) {
		notice.Stop()
		return visit(ctx, address)
	})
	notice.Stop()
	switch {
	case errors.Is(err, extensions.ErrNoSignIn):
		return cli.UsageError("tenon mcp status shows the servers that you can sign in to", "server %q has no sign-in: it is local, its headers contain a token, or oauth is false", c.Name)
	case errors.Is(err, oauth.ErrDenied):
		return cli.Fail(cli.ExitRefused, err, "run tenon mcp login "+c.Argument()+" again and allow the access")
	case err != nil:
		return cli.Fail(cli.ExitTurn, err, fmt.Sprintf("if a server is down, try again later; if it registers no clients, set oauth.clientId in %s; if it has no sign-in, put a token into its headers", c.From))
	}
	offer, err := s.Compare(ctx, c)
	if err == nil && !offer.Pinned && !c.Project {
		err = s.Pin(ctx, c)
	}
	if err == nil {
		a.Say("signed in to %s; it offers %s", c.Name, view.Plural(len(offer.Tools), "tool"))
	}
	return err
}

func (g *group) logoutServer(ctx context.Context, s *extensions.Set, c *extensions.Candidate, _ []string) error {
	also, err := s.Sharing(c)
	if err == nil {
		err = s.Logout(ctx, c)
	}
	if errors.Is(err, credentials.ErrNotFound) {
		return cli.UsageError("tenon mcp status shows where you are signed in", "not signed in to server %q", c.Name)
	}
	if err == nil {
		g.Say("signed out of %s", strings.Join(append([]string{c.Name}, also...), ", "))
	}
	return err
}

// listedSignIn is a sign-in in the list.
type listedSignIn struct {
	Name    string    `json:"name"`
	Status  string    `json:"status"`
	Issuer  string    `json:"issuer,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // of the access token, which is refreshed
	Scopes  []string  `json:"scopes,omitempty"`
}

func (g *group) showSignIns(_ context.Context, s *extensions.Set, _ []string) error {
	var list []listedSignIn
	for _, c := range s.Candidates {
		token, err := s.SignIn(c)
		if errors.Is(err, extensions.ErrNoSignIn) {
			continue
		}
		one := listedSignIn{Name: c.Name, Status: "not signed in"}
		switch {
		case err == nil:
			one.Status, one.Issuer, one.Scopes = "signed in", token.Client.Issuer, token.Client.Scopes
			if token.Expires != 0 {
				one.Expires = time.UnixMilli(token.Expires)
			}
			if len(token.Client.Wanted) > 0 {
				one.Status = "requires more scopes; run: tenon mcp login " + c.Argument()
			} else if last := s.LastCheck(c); last != nil && last.SignIn {
				one.Status = "rejected; run: tenon mcp login " + c.Argument()
			} else if token.Refresh == "" && token.Expired(time.Now()) {
				one.Status = "expired; run: tenon mcp login " + c.Argument()
			}
		case !errors.Is(err, credentials.ErrNotFound):
			return err
		}
		list = append(list, one)
	}
	return cli.List(g.App, list, "no remote MCP servers that you can sign in to", []string{"name", "status", "issuer"}, func(l *listedSignIn) []string {
		return []string{l.Name, l.Status, l.Issuer}
	})
}

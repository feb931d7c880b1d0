package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

const (
	// maxAuthAnswer is the maximum size of a token or of headers as JSON, in bytes. Tokens have up to some kilobytes, and servers accept
	// 8 to 64 KiB of headers.
	maxAuthAnswer = 64 << 10
	// headersTimeout limits the call for the headers of a request.
	headersTimeout = 10 * time.Second
)

// errAuthAnswer is wrapped by errors about the answer of a sign-in method.
var errAuthAnswer = errors.New("bad answer of a sign-in method")

// AuthMethods returns the sign-in methods of the description for the providers that the user granted.
func (b *Base) AuthMethods() []sdk.AuthMethod {
	var out []sdk.AuthMethod
	for i := range b.Description.Auth {
		d := &b.Description.Auth[i]
		if !Names(b.Grants, d.Provider, sdk.CapabilityAuth) {
			continue
		}
		m := sdk.AuthMethod{Plugin: b.Description.Name, Owner: b.owner(), Provider: d.Provider, ID: d.ID, Name: d.Name}
		m.Login = func(ctx context.Context, _ sdk.Object, user sdk.AuthUser) (*sdk.Token, error) {
			return b.token(ctx, d, guest.AuthLogin, nil, user)
		}
		if d.Refreshes {
			m.Refresh = func(ctx context.Context, _ sdk.Object, t *sdk.Token) (*sdk.Token, error) {
				return b.token(ctx, d, guest.AuthRefresh, t, nil)
			}
		}
		if d.Headers {
			m.Headers = func(ctx context.Context, t *sdk.Token) (map[string]string, error) { return b.authHeaders(ctx, d, t) }
		}
		out = append(out, m)
	}
	return out
}

// token returns the token of a login or a refresh.
func (b *Base) token(ctx context.Context, d *sdk.AuthDescription, action string, old *sdk.Token, user sdk.AuthUser) (*sdk.Token, error) {
	answer, err := b.auth(ctx, d, action, old, user)
	if err != nil {
		return nil, err
	}
	if answer.Token == nil || answer.Token.Access == "" {
		return nil, fmt.Errorf("plugin %s: %w: no token", b.Description.Name, errAuthAnswer)
	}
	return answer.Token, nil
}

func (b *Base) authHeaders(ctx context.Context, d *sdk.AuthDescription, t *sdk.Token) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, headersTimeout)
	defer cancel()
	answer, err := b.auth(ctx, d, guest.AuthHeaders, t, nil)
	if err != nil {
		return nil, err
	}
	if len(answer.Headers) == 0 {
		return nil, fmt.Errorf("plugin %s: %w: no headers", b.Description.Name, errAuthAnswer)
	}
	for name, value := range answer.Headers {
		control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
		if name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || strings.ContainsFunc(value, control) {
			return nil, fmt.Errorf("plugin %s: %w: invalid header %q", b.Description.Name, errAuthAnswer, name)
		}
	}
	return answer.Headers, nil
}

func (b *Base) auth(ctx context.Context, d *sdk.AuthDescription, action string, t *sdk.Token, user sdk.AuthUser) (*guest.AuthAnswer, error) {
	request, err := json.Marshal(guest.AuthRequest{Action: action, Provider: d.Provider, Method: d.ID, Token: t})
	if err != nil {
		return nil, err
	}
	data, err := b.runner.Call(ctx, &Call{Request: guest.Request{Method: "auth", Body: request}, By: ability.Caller{User: user}})
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %s: %w", b.Description.Name, action, err)
	}
	answer := new(guest.AuthAnswer)
	if len(data) > maxAuthAnswer {
		err = fmt.Errorf("%d bytes, at most %d are accepted", len(data), maxAuthAnswer)
	} else {
		err = json.Unmarshal(data, answer)
	}
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w: %w", b.Description.Name, errAuthAnswer, err)
	}
	return answer, nil
}

package guest

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/sdk"
)

// Actions of an AuthRequest.
const (
	AuthLogin   = "login"   // signs the user in and returns the token
	AuthRefresh = "refresh" // returns a new token for Token
	AuthHeaders = "headers" // returns the headers of requests with Token
)

type (
	// AuthRequest is a call of a sign-in method.
	AuthRequest struct {
		Action   string     `json:"action"`
		Provider string     `json:"provider"`
		Method   string     `json:"method"`          // ID of the method
		Token    *sdk.Token `json:"token,omitempty"` // of refresh and headers
	}
	// AuthAnswer is the answer to an AuthRequest.
	AuthAnswer struct {
		Token   *sdk.Token        `json:"token,omitempty"`   // of login and refresh
		Headers map[string]string `json:"headers,omitempty"` // of headers
	}
	// SignInNotice is the request of signin.notice.
	SignInNotice struct {
		Text string `json:"text"`
	}
	// SignInCode is the request of signin.code.
	SignInCode struct {
		Address string `json:"address"`
		Code    string `json:"code"`
	}
	// SignInVisit is the request of signin.visit.
	SignInVisit struct {
		Address string `json:"address"`
	}
	// SignInRedirect is the answer of signin.visit.
	SignInRedirect struct {
		Redirect string `json:"redirect"`
	}
)

// auth calls a sign-in method of the plugin. host is for the operations of a login.
func (g *Guest) auth(ctx context.Context, req *AuthRequest, host Caller) (*AuthAnswer, error) {
	m, err := g.method(req)
	if err != nil {
		return nil, err
	}
	token := cmp.Or(req.Token, &sdk.Token{})
	answer := &AuthAnswer{}
	switch {
	case req.Action == AuthLogin && m.Login != nil:
		answer.Token, err = m.Login(ctx, sdk.Object{}, &authUser{ctx, host})
	case req.Action == AuthRefresh && m.Refresh != nil:
		answer.Token, err = m.Refresh(ctx, sdk.Object{}, token)
	case req.Action == AuthHeaders && m.Headers != nil:
		answer.Headers, err = m.Headers(ctx, token)
	default:
		return nil, fmt.Errorf("sign-in method %s/%s has no %s", req.Provider, req.Method, req.Action)
	}
	if err == nil && req.Action != AuthHeaders && answer.Token == nil {
		err = errors.New("the sign-in returned no token")
	}
	return answer, err
}

func (g *Guest) method(req *AuthRequest) (*sdk.AuthMethod, error) {
	if source, ok := g.plugin.(sdk.AuthSource); ok {
		for _, m := range source.AuthMethods() {
			if m.Provider == req.Provider && m.ID == req.Method {
				return &m, nil
			}
		}
	}
	return nil, fmt.Errorf("the plugin has no sign-in method %s/%s", req.Provider, req.Method)
}

// authUser is the user during a login, reached by operations of the host.
type authUser struct {
	ctx  context.Context // of the login
	host Caller
}

// Notice shows a line. The host ignores it if the login is over.
func (u *authUser) Notice(text string) {
	_ = u.host.do(u.ctx, "signin.notice", SignInNotice{text}, nil)
}

// Code shows a code. The host ignores it if the login is over.
func (u *authUser) Code(address, code string) {
	_ = u.host.do(u.ctx, "signin.code", SignInCode{address, code}, nil)
}

// Visit asks the user to open an address.
func (u *authUser) Visit(ctx context.Context, address string) (string, error) {
	var answer SignInRedirect
	err := u.host.do(ctx, "signin.visit", SignInVisit{address}, &answer)
	return answer.Redirect, err
}

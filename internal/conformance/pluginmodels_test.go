package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Names of the provider, its wire protocol and its sign-in methods.
const (
	Provider   = "conformance-provider"
	Protocol   = "conformance-protocol"
	AuthBrowse = "browse" // uses everything that a sign-in can show the user
	AuthPlain  = "plain"  // has neither a refresh nor headers
	AuthDenied = "denied" // fails
)

// Models of the provider that misbehave.
const (
	ModelLimited = "limited" // fails with Limited
	ModelPlain   = "plain"   // fails with a plain error
	ModelSilent  = "silent"  // ends without a finish event
	ModelLate    = "late"    // sends an event after the finish event
	ModelPanic   = "panic"   // panics
	ModelWait    = "wait"    // answers until the context or the sink ends it
)

// Limited is the error of ModelLimited.
func Limited() *sdk.ProviderError {
	return &sdk.ProviderError{
		ProviderID: Provider, StatusCode: 429, Headers: map[string]string{"retry-after": "3"}, Body: `{"error": "slow"}`, Code: "rate_limit",
		Message: "slow down", Err: errors.New("the cause"),
	}
}

func (p *Plugin) authMethods() []sdk.AuthMethod {
	return []sdk.AuthMethod{
		{
			Provider: Provider, ID: AuthBrowse, Name: "Conformance account", Login: p.browse,
			Refresh: func(_ context.Context, _ sdk.Object, t *sdk.Token) (*sdk.Token, error) {
				return &sdk.Token{Access: t.Access + "+", Refresh: t.Refresh + "+", Expires: t.Expires + 1, Metadata: t.Metadata}, nil
			},
			Headers: func(_ context.Context, t *sdk.Token) (map[string]string, error) {
				if t.Metadata["account"] == "bad" {
					return map[string]string{"X-Account": "a\r\nb"}, nil
				}
				return map[string]string{"Authorization": "Conformance " + t.Access, "X-Account": t.Metadata["account"]}, nil
			},
		},
		{Provider: Provider, ID: AuthPlain, Login: func(_ context.Context, options sdk.Object, _ sdk.AuthUser) (*sdk.Token, error) {
			return &sdk.Token{Access: fmt.Sprintf("%d options", len(options))}, nil
		}},
		{Provider: Provider, ID: AuthDenied, Login: func(context.Context, sdk.Object, sdk.AuthUser) (*sdk.Token, error) {
			return nil, errors.New("the user said no")
		}},
	}
}

// browse shows everything that a sign-in can show.
func (*Plugin) browse(ctx context.Context, _ sdk.Object, user sdk.AuthUser) (*sdk.Token, error) {
	user.Notice("a notice")
	user.Code("https://conformance.example/device", "AB-CD")
	redirect, err := user.Visit(ctx, "https://conformance.example/login")
	if err != nil {
		return nil, err
	}
	return &sdk.Token{Access: "access " + redirect, Refresh: "refresh", Expires: 7, Metadata: map[string]string{"account": "a1"}}, nil
}

func protocols() []sdk.Protocol {
	return []sdk.Protocol{{Name: Protocol, Open: func(info sdk.ProviderInfo) (sdk.ModelClient, error) { return &client{info}, nil }}}
}

// client answers requests to the models.
type client struct{ info sdk.ProviderInfo }

// ListModels lists two models; without a key it fails.
func (c *client) ListModels(context.Context) ([]sdk.Model, error) {
	if c.info.Key == "" {
		return nil, &sdk.ProviderError{ProviderID: Provider, StatusCode: 401, Message: "no key"}
	}
	return []sdk.Model{{ID: "one"}, {ID: "two"}}, nil
}

// Stream answers with the data that it received.
func (c *client) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	said := strings.Join([]string{c.info.BaseURL, c.info.Key, req.SessionID, req.Headers["Authorization"]}, " ")
	events := []sdk.StreamEvent{
		{Type: sdk.StreamReasoning, ID: "r", Text: "hm", Metadata: sdk.Object{"signature": "s"}},
		{Type: sdk.StreamText, ID: "t", Text: said},
		{Type: sdk.StreamToolCall, ID: "c", CallID: "c1", Tool: "read", Text: `{"a":`},
		{Type: sdk.StreamToolCall, ID: "c", Text: `1}`},
	}
	finish := sdk.StreamEvent{Type: sdk.StreamFinish, Reason: sdk.FinishToolCalls, Tokens: sdk.Tokens{Input: 11, Output: 7}}
	switch req.Model.ID {
	case ModelLimited:
		return Limited()
	case ModelPlain:
		return errors.New("out of paper")
	case ModelPanic:
		return errors.New(strings.Repeat("x", -len(req.Model.ID))) // panics with PanicText
	case ModelWait:
		for {
			if err := errors.Join(ctx.Err(), sink(events[1])); err != nil {
				return err
			}
		}
	case ModelLate:
		events = append(events, finish, events[1])
	case ModelSilent:
	default:
		events = append(events, finish)
	}
	for _, e := range events {
		if err := sink(e); err != nil {
			return err
		}
	}
	return nil
}
